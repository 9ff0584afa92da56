set terminal svg size 900,540 noenhanced
set output 'fanout-direct.svg'
set title 'fanout-direct'
set xlabel 'subscribers'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-direct.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-direct.dat' using 1:3 with linespoints title 'received (RT)', \
     'fanout-direct.dat' using 1:4 with linespoints title 'first to last', \
     'fanout-direct.dat' using 1:5 with linespoints title 'all subscribers'
