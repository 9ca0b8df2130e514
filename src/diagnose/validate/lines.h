// Parses the helper's lines into a report.
#pragma once

#include <string>
#include <string_view>

#include "src/diagnose/validate/report.h"
#include "src/platform/base/clock.h"

namespace kgpu::validate {

class LineReader {
 public:
  // `report` must outlive the reader.
  LineReader(Report& report, SteadyTime start) : report_(report), since_(start) {}

  // Output of the helper, in pieces of any size.
  void Take(std::string_view bytes, SteadyTime now);
  // The helper's; empty before it has reported it.
  const std::string& version() const { return version_; }
  // The current phase; empty before the first.
  const std::string& phase() const { return phase_; }
  // The start of the current phase.
  SteadyTime since() const { return since_; }
  // A final line was read.
  bool is_finished() const { return is_finished_; }

 private:
  void TakeLine(std::string_view line, SteadyTime now);
  void Begin(std::string_view phase, SteadyTime now);
  void EndPhase(SteadyTime now);
  void Set(std::string_view key, std::string_view value);
  void Fail(std::string_view text);

  Report& report_;
  std::string rest_;  // of a line whose end has not arrived
  std::string version_;
  std::string phase_;
  SteadyTime since_;
  bool is_finished_ = false;
};

}  // namespace kgpu::validate
