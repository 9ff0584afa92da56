set terminal svg size 900,540 noenhanced
set output 'latency-ack.svg'
set title 'From the due time to the receipt'
set xlabel 'messages that took at most so long'
set ylabel 'us'
set logscale xy
set xtics ('0 %%' 1, '50 %%' 2, '90 %%' 10, '99 %%' 100, '99.9 %%' 1000, '99.99 %%' 10000, '99.999 %%' 100000)
set key below
set grid
plot 'latency-ack.dat' using 1:2 with lines title '100/s, async, 128 B', \
     'latency-ack.dat' using 1:3 with lines title '1000/s, async, 128 B', \
     'latency-ack.dat' using 1:4 with lines title '10000/s, async, 128 B', \
     'latency-ack.dat' using 1:5 with lines title '100000/s, async, 128 B', \
     'latency-ack.dat' using 1:6 with lines title '100/s, sync, 128 B', \
     'latency-ack.dat' using 1:7 with lines title '1000/s, sync, 128 B', \
     'latency-ack.dat' using 1:8 with lines title '10000/s, sync, 128 B', \
     'latency-ack.dat' using 1:9 with lines title '100000/s, sync, 128 B'
