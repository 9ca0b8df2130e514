module function

go 1.19
