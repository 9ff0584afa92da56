set terminal svg size 900,540 noenhanced
set output 'fanout-proxy.svg'
set title 'fanout-proxy'
set xlabel 'subscribers'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-proxy.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-proxy.dat' using 1:3 with linespoints title 'received (RT)', \
     'fanout-proxy.dat' using 1:4 with linespoints title 'first to last', \
     'fanout-proxy.dat' using 1:5 with linespoints title 'all subscribers'
