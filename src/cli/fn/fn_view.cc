#include "src/cli/fn/fn_view.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include <string_view>
#include <vector>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

const boost::json::value* FnMember(const boost::json::value& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains({key.data(), key.size()}) : nullptr;
}

std::string FnText(const boost::json::value& value, std::string_view key) {
  const boost::json::value* found = FnMember(value, key);
  if (found == nullptr) {
    return "";
  }
  if (found->is_string()) {
    return {found->get_string().data(), found->get_string().size()};
  }
  if (found->is_int64()) {
    return std::to_string(found->get_int64());
  }
  return found->is_uint64() ? std::to_string(found->get_uint64()) : "";
}

double FnNumber(const boost::json::value& value, std::string_view key) {
  const boost::json::value* found = FnMember(value, key);
  boost::system::error_code error;
  return found == nullptr ? 0 : found->to_number<double>(error);
}

// GPUs that its replicas have now. Those of pods are counted, since only their node knows which.
size_t GpusOf(const boost::json::value& kgpu) {
  const boost::json::value* replicas = FnMember(kgpu, "replicaList");
  size_t gpus = 0;
  if (replicas != nullptr && replicas->is_array()) {
    for (const boost::json::value& replica : replicas->get_array()) {
      const boost::json::value* held = FnMember(replica, "gpus");
      const boost::json::value* count = FnMember(replica, "gpuCount");
      if (count != nullptr && count->is_number()) {
        gpus += count->to_number<size_t>();
      } else if (held != nullptr && held->is_array()) {
        gpus += held->get_array().size();
      }
    }
  }
  return gpus;
}

const boost::json::array& ListIn(const boost::json::value& value, std::string_view key) {
  static const boost::json::array kNone;
  const boost::json::value* found = FnMember(value, key);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

// The first line says what is wrong; of what a handler printed, the last one says why.
std::string InOneLine(std::string_view text) {
  const std::vector<std::string_view> lines = Split(Trim(text), '\n');
  if (lines.size() <= 1) {
    return std::string(Trim(text));
  }
  return fmt::format("{}{}{}", lines.front(), lines.size() > 2 ? " … " : " ", lines.back());
}

}  // namespace

std::string FunctionsTable(const boost::json::value& list) {
  report::Table table({"NAME", "STATE", "REPLICAS", "GPUS", "CALLS", "IMAGE", "PROBLEM"});
  static const boost::json::value kNothing;
  for (const boost::json::value& function : ListIn(list, "Functions")) {
    const boost::json::value* found = FnMember(function, "Kgpu");
    const boost::json::value& kgpu = found == nullptr ? kNothing : *found;
    table.AddRow(
        {FnText(function, "Name"), FnText(kgpu, "state"),
         fmt::format("{}/{}", FnText(function, "AvailableReplicas"), FnText(function, "Replicas")),
         std::to_string(GpusOf(kgpu)), FnText(function, "InvocationCount"),
         FnText(function, "Image"), InOneLine(FnText(kgpu, "problem"))});
  }
  return table.Render();
}

std::string FunctionQueueTable(const boost::json::value& list) {
  report::Table table(
      {"ID", "FUNCTION", "STATE", "ARRIVED", "ATTEMPTS", "NEXT", "CODE", "PROBLEM"});
  for (const boost::json::value& call : ListIn(list, "calls")) {
    const std::string code = FnText(call, "code");
    table.AddRow({FnText(call, "id"), FnText(call, "function"), FnText(call, "state"),
                  FnText(call, "arrived"), FnText(call, "attempts"), FnText(call, "notBefore"),
                  code == "0" ? "" : code, InOneLine(FnText(call, "problem"))});
  }
  return table.Render();
}

std::string FunctionUsageTable(const boost::json::value& usage) {
  report::Table table({"FUNCTION", "CALLS", "ERRORS", "COLD STARTS", "CALL TIME", "GPU BUSY",
                       "GPU HELD", "GPU PER CALL"});
  for (const boost::json::value& use : ListIn(usage, "usage")) {
    table.AddRow({FnText(use, "function"), FnText(use, "calls"), FnText(use, "errors"),
                  FnText(use, "coldStarts"), fmt::format("{:.1f}s", FnNumber(use, "callSeconds")),
                  fmt::format("{:.1f}s", FnNumber(use, "gpuBusySeconds")),
                  fmt::format("{:.1f}s", FnNumber(use, "gpuHeldSeconds")),
                  fmt::format("{:.3f}s", FnNumber(use, "gpuSecondsPerCall"))});
  }
  return table.Render();
}

}  // namespace kgpu::cli
