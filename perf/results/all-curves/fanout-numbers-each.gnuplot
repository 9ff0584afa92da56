set terminal svg size 900,540 noenhanced
set output 'fanout-numbers-each.svg'
set title 'numbers: each subscriber'
set xlabel 'messages'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-numbers-each.dat' using 1:2 with points title 'each'
