set terminal svg size 900,540 noenhanced
set output 'fanout-sizes-megabits.svg'
set title 'fanout-sizes-megabits'
set xlabel 'bytes of a message'
set ylabel 'megabits/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-sizes-megabits.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-sizes-megabits.dat' using 1:3 with linespoints title 'received (RT)'
