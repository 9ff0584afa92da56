set terminal svg size 900,540 noenhanced
set output 'fanout-numbers-megabits.svg'
set title 'fanout-numbers-megabits'
set xlabel 'messages'
set ylabel 'megabits/s'
set yrange [0:*]
set key below
set grid
plot 'fanout-numbers-megabits.dat' using 1:2 with linespoints title 'sent (ST)', \
     'fanout-numbers-megabits.dat' using 1:3 with linespoints title 'received (RT)'
