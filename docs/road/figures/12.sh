# Experts against dense models.
data moby-dick bible
networks="dense experts dense-wide"

for network in $networks; do
    row $network
    train recipes/experts/$network.quick.json
    [ $network != experts ] || mean_of_last 20 busiest_expert
done
models=$(for network in $networks; do model_of 12 $network; done)

row curves
compare "dense and experts" $models
picture 12-experts.svg "$here/curves.svg"

row decoding  # by the clock: only a machine that does nothing else can tell
compare "decoding" $models

for balance in 0 0.01 0.1; do  # the recipe has 0.02
    row balance-$balance
    train recipes/experts/experts.quick.json balance=$balance
    mean_of_last 20 busiest_expert
done

full_row experts-full
compare "dense and experts, full" recipes/experts/*.full.json
