#include "src/node/loans/loan_request.h"

#include <algorithm>
#include <array>

#include "src/node/config/tree_reader.h"
#include "src/node/loans/ledger.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::loans {
namespace {

constexpr std::string_view kWhat = "loan";
constexpr std::array<std::string_view, 4> kRequestKeys = {"holder", "count", "models", "memory"};
constexpr size_t kMaxPattern = 128;
// A pebibyte: more is a mistake.
constexpr uint64_t kMaxMemory = uint64_t{1} << 50;

bool IsPattern(std::string_view model) {
  return !model.empty() && model.size() <= kMaxPattern &&
         std::ranges::all_of(model, [](char c) { return c >= ' ' && c <= '~'; });
}

std::vector<std::string> ReadModels(const config::Node& field) {
  std::vector<std::string> models = field.Strings();
  if (models.size() > kMaxModels) {
    field.Error("{} models exceed the limit of {}", models.size(), kMaxModels);
  }
  for (const std::string& model : models) {
    if (!IsPattern(model)) {
      field.Error("\"{}\" must be a model such as A100-SXM4-80GB", Printable(model, 60));
    }
  }
  return models;
}

}  // namespace

StatusOr<LoanRequest> ParseLoanRequest(std::string_view body) {
  ASSIGN_OR_RETURN(
      const doc::Located document,
      doc::ParseLocated(body, doc::Format::kJson, kWhat, doc::Limits{.bytes = kMaxRequestBytes}));
  config::Problems problems(kWhat);
  const config::Node root(document, problems);
  LoanRequest request;
  bool has_holder = false;
  root.ForEachField(kRequestKeys, [&](std::string_view name, const config::Node& field) {
    if (name == "holder") {
      has_holder = true;
      config::Set(request.holder, field.CheckedString(&CheckHolder));
    } else if (name == "count") {
      request.count = field.Number(1, kMaxGpusOfLoan).value_or(1);
    } else if (name == "models") {
      request.models = ReadModels(field);
    } else if (const auto memory = field.Number(1, kMaxMemory)) {
      request.memory = Bytes{*memory};
    }
  });
  if (root.is_map() && !has_holder) {
    root.Error("holder: missing: name who borrows, such as fn/hello/4f1c");
  }
  RETURN_IF_ERROR(problems.ToStatus());
  return request;
}

}  // namespace kgpu::loans
