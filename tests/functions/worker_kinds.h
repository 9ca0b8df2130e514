// The worker library of every runtime, each with a handler of the same behaviour. The input's first
// word chooses what it does.
//   echo …    the input, as bytes           throw     an exception with the text "no such thing"
//   exit      ends the process with code 3  crash     SIGSEGV
//   hang      never returns                 flood     output without end, until it is given up
//   head      status 418, a header, and what the call was: method path query header
//   cookies   two fields Set-Cookie, and X-Number: 7
//   bad-status, bad-name, bad-value, big-head    a head that is no valid HTTP
//   bad-type  a header of a type that is none (python3, nodejs and ruby)
//   stream n  n pieces "piece i\n", each sent before the next is made
//   mesh …    the output of the function "other" for the rest of the input (not nodejs and java)
//   print     writes to the standard output
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/functions/watchdog_run.h"

namespace kgpu::e2e {

// One runtime's handler. The build has made that of C++; Go and Java are compiled here.
class WorkerKind {
 public:
  explicit WorkerKind(std::string runtime);

  const std::string& runtime() const { return runtime_; }
  // Empty, or why this runtime cannot be tested here.
  const std::string& problem() const { return problem_; }
  // Of kgpu-fnwatch with it.
  WatchdogRun::Settings Settings(std::vector<std::string> flags = {}) const;

 private:
  void MakePython();
  void MakeCpp();
  void MakeNode();
  void MakeGo();
  void MakeRuby();
  void MakeJava();
  // Runs a compiler; its output becomes the problem.
  void Build(std::vector<std::string> argv);
  bool Find(std::string_view program);

  const std::string runtime_;
  TempDir dir_;
  std::string problem_;
  std::string program_;
  std::vector<std::string> command_;
  std::string file_;
};

}  // namespace kgpu::e2e
