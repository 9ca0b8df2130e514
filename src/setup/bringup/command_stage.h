// A stage that is other commands of kgpu, run as programs of their own: what they do and print is
// what they do by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/run.h"
#include "src/setup/bringup/stage.h"

namespace kgpu::bringup {

// Where kgpu runs.
struct Commands {
  std::string program;  // the kgpu that runs now, as this process sees it
  sys::ProgramRunner& runner;
  // What a command prints while it works, a line at a time.
  std::function<void(std::string_view line)> on_line;
  std::vector<std::string> environment{};  // ours, so that a command does what it does by hand

  // `is_shown`: its lines go to on_line.
  StatusOr<sys::RunResult> Run(const std::vector<std::string>& words, bool is_shown) const;
};

using Words = std::vector<std::string>;

struct CommandStage {
  std::string id{};
  std::string title{};
  Words look{};  // exit code 0 or 9: ready; 7: needed; any other: blocked. Empty: always needed
  std::string reason{};        // lines of `look` that begin with it say why the stage is needed
  bool is_look_final = false;  // what it finds no stage fixes: 7 means blocked as well
  std::string obstacle{};      // a line of `look` with this in it means blocked, however it ends
  std::string way_past{};      // what else may be done about that
  bool is_proven = false;      // after `act` the look must find it ready
  Words act{};                 // empty: nothing to do
  Words preview{};
  Words undo{};  // empty: leaves no traces
  // Whether there is anything that `undo` would take back.
  std::function<bool()> has_traces = [] { return false; };
  std::function<StatusOr<Levels>()> levels = [] { return Levels{}; };
  Words preview_undo{};
  // Exit code of `act` and `undo` that means Ending::kWaits; 0: none does.
  int waits = 0;
  int nothing = 0;  // exit code of `undo` that means that there is nothing to undo; 0: none does
};

std::unique_ptr<Stage> MakeStage(CommandStage stage, const Commands& commands);

}  // namespace kgpu::bringup
