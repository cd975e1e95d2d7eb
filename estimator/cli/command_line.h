#pragma once

namespace dlcost {

// The program with its arguments as a function; the exit code (0 done, 1 a check failed, 2 wrong
// input, told in one line on standard error).
int CommandLine(int argc, char** argv);

}  // namespace dlcost
