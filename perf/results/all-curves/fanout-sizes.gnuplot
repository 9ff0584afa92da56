set terminal svg size 900,540 noenhanced
set output 'fanout-sizes.svg'
set title 'fanout-sizes'
set xlabel 'bytes of a message'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-sizes.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-sizes.dat' using 1:3 with linespoints title 'received (RT)', \
     'fanout-sizes.dat' using 1:4 with linespoints title 'first to last', \
     'fanout-sizes.dat' using 1:5 with linespoints title 'all subscribers'
