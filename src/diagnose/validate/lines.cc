#include "src/diagnose/validate/lines.h"

#include <array>
#include <charconv>

#include "src/diagnose/validate/protocol.h"

namespace kgpu::validate {
namespace {

// Removes and returns the first word of `text`, with the blank after it.
std::string_view TakeWord(std::string_view& text) {
  const size_t blank = text.find(' ');
  const std::string_view word = text.substr(0, blank);
  text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  return word;
}

std::optional<double> NumberOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

}  // namespace

std::string_view ToString(Outcome outcome) {
  static constexpr std::array<std::string_view, 5> kWords = {"passed", "failed", "hung", "absent",
                                                             "crashed"};
  return kWords.at(static_cast<size_t>(outcome));
}

void LineReader::EndPhase(SteadyTime now) {
  if (phase_.empty()) {
    return;
  }
  if (report_.phases.empty() || report_.phases.back().name != phase_) {
    report_.phases.push_back({.name = phase_});
  }
  report_.phases.back().took += now - since_;
}

void LineReader::Begin(std::string_view phase, SteadyTime now) {
  EndPhase(now);
  report_.is_vector_sum_right = report_.is_vector_sum_right || phase_ == "check";
  phase_ = phase;
  since_ = now;
}

void LineReader::Set(std::string_view key, std::string_view value) {
  if (key == "name") {
    report_.name = value;
  } else if (key == "uuid") {
    report_.uuid = value;
  } else if (key == "compute") {
    report_.compute_capability = value;
  } else if (key == "cuda") {
    report_.cuda = value;
  } else if (key == "h2d") {
    report_.host_to_device = NumberOf(value);
  } else if (key == "d2h") {
    report_.device_to_host = NumberOf(value);
  } else if (key == "d2d") {
    report_.within_device = NumberOf(value);
  } else if (key == "host-memory") {
    report_.host_memory = value;
  } else if (key == "burn-flops") {
    report_.burn_flops = NumberOf(value);
  }
}

void LineReader::Fail(std::string_view text) {
  const std::string_view code = TakeWord(text);
  (void)std::from_chars(code.data(), code.data() + code.size(), report_.error);
  report_.outcome = Outcome::kFailed;
  report_.reason = text;
  is_finished_ = true;
}

void LineReader::TakeLine(std::string_view line, SteadyTime now) {
  std::string_view text = line;
  const std::string_view word = TakeWord(text);
  if (is_finished_) {
    return;
  }
  if (word == "hello") {
    version_ = text;
  } else if (word == "begin") {
    Begin(text, now);
  } else if (word == "set") {
    const std::string_view key = TakeWord(text);
    Set(key, text);
  } else if (word == "fail") {
    EndPhase(now);
    Fail(text);
  } else if (word == "done") {
    Begin("", now);
    report_.outcome = Outcome::kPassed;
    is_finished_ = true;
  }
}

void LineReader::Take(std::string_view bytes, SteadyTime now) {
  rest_ += bytes;
  size_t start = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
    TakeLine(std::string_view(rest_).substr(start, end - start), now);
    start = end + 1;
  }
  rest_.erase(0, start);
  // A helper that is broken must not fill our memory.
  if (rest_.size() > kMaxLine) {
    rest_.clear();
  }
}

}  // namespace kgpu::validate
