// Keeps the gates of containers with shares of a GPU's time in step with what the driver measures,
// and has the figures of all slices.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/node/pods/watch.h"
#include "src/node/slices/compute_control.h"
#include "src/node/slices/excess.h"
#include "src/node/slices/gate_files.h"
#include "src/node/slices/ledger_figures.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/clock.h"

namespace kgpu::slices {

// Lives on the loop's thread; reads and writes files on that of `background`. Every round it reads
// the ledgers of slices in use; it writes gates when their turns change, and in every round while
// several containers are busy.
class ComputeShares {
 public:
  // `folder` has the files of the slots, by this process's path. `paced` is called when pace() has
  // changed.
  ComputeShares(pods::Background background, std::string folder, std::function<void()> paced);

  // The devices' slots have changed, or those that withdrawn devices had.
  void SetAssignment(const pools::Assignment& assignment, const pools::Assignment& held);
  // Call it once per round of samples, when the owners of their processes are known. `list` tells
  // whether nobody has a slot, or nobody knows yet who.
  void OnSample(const slices::SliceFacts& facts, const pods::ListState& list, SteadyTime now);
  // How often to measure for it at least; nothing: it does not need it.
  std::optional<std::chrono::milliseconds> pace() const { return pace_; }
  // Of the last round; never null.
  const telemetry::SliceFiguresPtr& figures() const { return figures_; }

 private:
  // What is known of a slot from its ledger, as long as one container has it.
  struct Ledger {
    std::string user;
    std::optional<slices::LedgerFigures> first{}, last{};
    SteadyTime read{};
    std::optional<double> waited{};  // percent of the time between the last two reads
    bool is_asked = false;           // it is being read
  };
  using Turns = std::map<std::string, slices::ComputeTurn>;  // by container and device

  Turns Control(const std::vector<slices::SliceUse>& uses, const slices::SliceFacts& facts);
  void Publish(const std::vector<slices::SliceUse>& uses, const Turns& turns);
  void Exchange(const std::vector<slices::SliceUse>& uses, std::vector<slices::GateWord> words,
                SteadyTime now);
  std::vector<slices::GateWord> WordsOf(const std::vector<slices::SliceUse>& uses,
                                        const slices::SliceFacts& facts, const Turns& turns);
  void TakeLedgers(const std::map<std::string, slices::LedgerFigures>& ledgers, SteadyTime now);
  std::optional<double> WaitedOf(const slices::SliceUse& use) const;
  std::optional<std::chrono::milliseconds> PaceFor(const std::vector<slices::SliceUse>& uses) const;
  void SetPace(std::optional<std::chrono::milliseconds> pace);

  const pods::Background background_;
  const std::string folder_;
  const std::function<void()> paced_;
  std::map<std::string, slices::ComputeController> controllers_;  // by device
  std::map<std::string, uint64_t> written_;                       // gates, by slot
  std::map<std::string, Ledger> ledgers_;                         // by slot
  std::map<std::string, Bytes> peaks_;                            // by container and device
  bool has_looked_ = false;                                       // at who uses the slots
  bool has_shares_ = false;  // a slot of the assignment has one
  std::optional<std::chrono::milliseconds> pace_;
  telemetry::SliceFiguresPtr figures_;
  bool has_failed_ = false;  // to write gates: said once
  // Destroyed with this: a later answer is ignored.
  std::shared_ptr<ComputeShares*> self_;
};

}  // namespace kgpu::slices
