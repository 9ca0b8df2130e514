// The program kgpu: parses the command line, runs a command, prints its error, returns its code.
#pragma once

namespace kgpu::cli {

int Main(int argc, char** argv);

}  // namespace kgpu::cli
