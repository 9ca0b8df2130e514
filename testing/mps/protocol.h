// How the simulated control daemon of MPS talks to its own program and to the simulated libcuda:
// lines over a unix stream socket, "control" in the pipe folder. NVIDIA's own protocol is not
// public; the commands, the files of the folder and what the program prints are those of
// nvidia-cuda-mps-control(1).
//
//   a person's command        one line; answered with text, until the daemon closes the connection
//   "client PID"              a program that makes a context; answered with
//                             "ok THREADS MIB\n" (limits; 0 MiB: none) or "not-ready\n" (a fault
//                             blocks the server). It is a client for as long as it is connected,
//                             and gets "fault\n" when its context is lost
//   "fault"                   from a client: its program has caused a fatal fault
//
// The daemon's environment makes it worse than NVIDIA's, or as its old ones:
//   KGPU_SIM_MPS_MUTE=COMMAND     never answers this command
//   KGPU_SIM_MPS_SERVER_USER=UID  whose the server is, as with drivers before 550
#pragma once

#include <string>

namespace kgpu::simmps {

inline constexpr char kControlSocket[] = "control";
inline constexpr char kLockFile[] = "control_lock";
inline constexpr char kPidFile[] = "nvidia-cuda-mps-control.pid";
inline constexpr char kMuteVariable[] = "KGPU_SIM_MPS_MUTE";
inline constexpr char kServerUserVariable[] = "KGPU_SIM_MPS_SERVER_USER";
inline constexpr size_t kMaxClients = 48;

// $CUDA_MPS_PIPE_DIRECTORY, or where MPS is without.
std::string PipeFolder();
// Runs in the foreground until "quit". Returns the exit code.
int RunDaemon();
// Passes the lines of standard input on, and prints the answers. Returns the exit code.
int RunClient();

}  // namespace kgpu::simmps
