set terminal svg size 900,540 noenhanced
set output 'fanout-sizes-each.svg'
set title 'sizes: each subscriber'
set xlabel 'bytes of a message'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-sizes-each.dat' using 1:2 with points title 'each'
