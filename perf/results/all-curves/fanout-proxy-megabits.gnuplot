set terminal svg size 900,540 noenhanced
set output 'fanout-proxy-megabits.svg'
set title 'fanout-proxy-megabits'
set xlabel 'subscribers'
set ylabel 'megabits/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-proxy-megabits.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-proxy-megabits.dat' using 1:3 with linespoints title 'received (RT)'
