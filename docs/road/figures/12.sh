# Experts against dense models.
data moby-dick bible

row experts
compare recipes/experts/*.quick.json
picture 12-experts.svg "$here/curves.svg"

for balance in 0 0.01 0.02 0.1; do
    row balance-$balance
    train recipes/experts/experts.quick.json balance=$balance
    mean_of_last 20 busiest_expert
done

full_row experts-full
compare recipes/experts/*.full.json
