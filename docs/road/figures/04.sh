# Attention pooling.
row regression
run regress regress -o "$here/fits.svg" --width 0.5 --json
picture 04-nadaraya-watson.svg "$here/fits.svg"

full_row regression-2000-points
run regress regress --points 2000 --steps 20 --json
