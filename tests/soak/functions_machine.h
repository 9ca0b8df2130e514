// A machine with functions in real containers: carries out the actions of a plan, and checks what
// no fault may break. A rule answers "" or what is wrong.
#pragma once

#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/functions/function_machine.h"
#include "tests/soak/footprint.h"
#include "tests/soak/functions_plan.h"
#include "tests/soak/holders.h"

namespace kgpu::soak {

class SoakFunctions {
 public:
  SoakFunctions();

  // Once.
  void Start() { machine_.Up(); }
  void BeginRound() { has_faults_ = false; }
  // "" or an answer that this action may not have.
  std::string Do(const Action& action);
  // At any moment: no GPU is lent twice, and no container has one that is not lent to it.
  std::string CheckLoans();
  // Undoes every fault of the round.
  void Repair();
  // Waits until everything is at rest.
  std::string Settle();
  // Then, in a window in which nothing happens: both daemons rest.
  std::string CheckRest();
  // Measures both daemons, and judges the life of one that has ended.
  std::string CheckGrowth(size_t round);
  // Judges the lives that go on, in the end.
  std::string CheckGrowth() const;

  std::string Summary() const;
  // For a failure.
  std::string Evidence();

 private:
  struct Deployed {
    const Shape* shape = nullptr;
    int64_t least = 0;  // replicas that always run
  };
  struct Answer {
    unsigned code = 0;  // 0: the service does not answer
    std::string body{};
    std::string fault{};
  };
  struct Daemon {
    pid_t pid = 0;
    std::vector<Footprint> life{};
  };

  std::string Deploy(const std::string& name, std::string_view shape);
  std::string Delete(const std::string& name);
  std::string Scale(const std::string& name, const std::string& count);
  std::string CallAtOnce(const std::string& name, size_t count);
  std::string DoFault(const Action& action);
  Answer Call(const std::string& name, const std::string& input,
              std::string_view prefix = "/function/") const;
  // Whether such an answer may come now.
  std::string Judge(const std::string& name, const std::string& input, const Answer& answer) const;
  boost::json::value Ask(const std::string& socket, const std::string& target) const;
  std::string Unrest(std::set<std::string>& answered);
  void ForgetDeleted();
  std::string CheckAgent() const;
  std::string CheckReplicas() const;
  std::string CheckQueue() const;
  std::string CheckAnswer(const std::string& name, std::set<std::string>& answered) const;
  // Its GPUs, of which others hold as many as there are with slices, may all be lent as a whole.
  bool AreSlicesShort(const std::string& name) const;

  engines::FunctionMachine machine_;
  std::string config_;
  std::map<std::string, Deployed> deployed_;
  std::set<std::string> deleting_;  // of those that were deployed: perhaps, the program was killed
  Holders holders_;
  std::map<std::string, Daemon> daemons_;  // by socket
  std::map<std::string, size_t> answers_;  // so far, by fault or code
  std::map<std::string, size_t> done_;     // actions so far, by verb
  size_t hits_ = 0;                        // processes that "kill" has found
  bool has_faults_ = false;                // this round
};

}  // namespace kgpu::soak
