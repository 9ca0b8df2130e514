// The parts of a GPU node, in the order in which they are brought up. Each is another kgpu command
// that can be run by hand as well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/setup/bringup/record.h"

namespace kgpu::bringup {

enum class Condition : uint8_t {
  kReady,    // nothing to do
  kNeeded,   // Do is needed
  kBlocked,  // only a person can continue; the text says how
};

struct Look {
  Condition condition = Condition::kReady;
  std::string text;  // for people, one line
};

enum class Ending : uint8_t {
  kDone,
  kWaits,  // for a restart of the host, or a person: then call again
};

struct Outcome {
  Ending ending = Ending::kDone;
  std::string text;
};

// A stack of things that replace each other, for stages that have one: drivers, each on top of the
// one that it replaced.
struct Levels {
  std::vector<std::string> names{};  // unique names, the top one last
  std::string top{};                 // the top one, for people
  bool is_whole = false;             // it is completely installed: Do would put another one on top
  // What a person can do instead, and what removes the top one: the ends of full sentences.
  std::string by_hand{};
  std::string take_off{};
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual std::string_view id() const = 0;     // "driver"
  virtual std::string_view title() const = 0;  // "the driver"
  // Whether `node down` must revert Do.
  virtual bool LeavesTraces() const = 0;
  // Whether anything that Undo reverts is present, whoever put it there.
  virtual bool HasTraces() const = 0;
  // Empty for a stage without a stack. Errors: those of reading what it consists of.
  virtual StatusOr<Levels> LevelsThere() const { return Levels{}; }
  // Called on all stages, before the first one starts and when all are done: they keep state in
  // between. Errors: those of the record.
  virtual Status Begin() { return OkStatus(); }
  virtual Status End() { return OkStatus(); }
  // Changes nothing.
  virtual Look LookAt() = 0;
  // What Do and Undo would do, for people; change nothing.
  virtual StatusOr<std::string> Preview() = 0;
  virtual StatusOr<std::string> PreviewUndo() = 0;
  // Both can run again after a kill at any point.
  virtual StatusOr<Outcome> Do() = 0;
  virtual StatusOr<Outcome> Undo() = 0;
};

}  // namespace kgpu::bringup
