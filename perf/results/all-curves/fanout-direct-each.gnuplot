set terminal svg size 900,540 noenhanced
set output 'fanout-direct-each.svg'
set title 'direct: each subscriber'
set xlabel 'subscribers'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-direct-each.dat' using 1:2 with points title 'each'
