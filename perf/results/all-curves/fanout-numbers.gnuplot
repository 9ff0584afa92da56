set terminal svg size 900,540 noenhanced
set output 'fanout-numbers.svg'
set title 'fanout-numbers'
set xlabel 'messages'
set ylabel 'messages/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-numbers.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-numbers.dat' using 1:3 with linespoints title 'received (RT)', \
     'fanout-numbers.dat' using 1:4 with linespoints title 'first to last', \
     'fanout-numbers.dat' using 1:5 with linespoints title 'all subscribers'
