set terminal svg size 900,540 noenhanced
set output 'fanout-proxy-each.svg'
set title 'proxy: each subscriber'
set xlabel 'subscribers'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-proxy-each.dat' using 1:2 with points title 'each'
