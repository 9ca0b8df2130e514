#include "src/diagnose/image/view.h"

#include <boost/json.hpp>

#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "src/gpu/cuda/compatibility.h"
#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/report/print.h"

namespace kgpu::image {
namespace {

namespace json = boost::json;

using doc::Texts;
using doc::View;

// A path in a tar archive may be of any bytes, JSON is not.
std::string Utf8(std::string_view text) {
  return FindInvalidUtf8(text) ? Printable(text, text.size()) : std::string(text);
}

json::array LibrariesJson(const ImageFacts& image) {
  json::array list;
  for (const CudaLibrary& library : image.libraries) {
    list.push_back(json::object{{"kind", View(ToString(library.kind))},
                                {"path", Utf8(library.path)},
                                {"version", View(library.version)}});
  }
  return list;
}

json::array GpusJson(const HostFacts& host) {
  json::array list;
  for (const HostGpu& gpu : host.gpus) {
    json::object entry{{"name", View(gpu.name)}, {"brand", View(gpu.brand)}};
    entry["computeCapability"] = gpu.compute ? json::value(gpu.compute->str()) : json::value();
    entry["dataCenter"] = gpu.is_data_center ? json::value(*gpu.is_data_center) : json::value();
    list.push_back(std::move(entry));
  }
  return list;
}

// The newest release of each branch, and versions of CUDA.
constexpr std::array<std::string_view, 9> kPairDrivers = {"450.248.02", "470.256.02", "525.147.05",
                                                          "535.309.01", "550.163.01", "560.35.05",
                                                          "570.211.01", "580.126.09", "595.71.05"};
constexpr std::array<cuda::CudaVersion, 10> kPairCudas = {
    {{10, 2}, {11, 0}, {11, 4}, {11, 8}, {12, 0}, {12, 2}, {12, 4}, {12, 9}, {13, 0}, {13, 2}}};

std::string_view BranchOf(std::string_view driver) {
  return driver.substr(0, driver.find('.'));
}

// What the first host of a branch can do with an image; the version stands for its branch.
std::string PairText(const cuda::CudaVersion& cuda, std::string_view driver) {
  ImageFacts image;
  image.env = {fmt::format("CUDA_VERSION={}", cuda.str())};
  HostFacts host;
  host.driver = cuda::DriverVersion::Parse(driver).value_or(cuda::DriverVersion{});
  switch (Judge(image, host).answer) {
    case Answer::kRuns:
      return "runs";
    case Answer::kRunsByMinor:
      return "minor";
    case Answer::kNeedsCompat:
      return "compat";
    case Answer::kUnknown:
    case Answer::kPtxOnly:
    case Answer::kNot:
      break;
  }
  return "no";
}

}  // namespace

std::string VerdictText(const ImageVerdict& verdict, bool has_color) {
  std::string text = report::FindingsText({&verdict.finding, 1}, {.has_color = has_color});
  for (const std::string& note : verdict.notes) {
    fmt::format_to(std::back_inserter(text), "  note: {}\n", note);
  }
  return text;
}

json::value VerdictJson(const ImageFacts& image, const HostFacts& host,
                        const ImageVerdict& verdict) {
  return json::object{
      {"answer", View(ToString(verdict.answer))},
      {"good", verdict.finding.severity == report::Severity::kInfo},
      {"refused", verdict.is_refused},
      {"compatInImage", verdict.has_compat},
      {"findings", report::FindingsJson({&verdict.finding, 1})},
      {"notes", Texts(verdict.notes)},
      {"image",
       {{"name", Utf8(image.name)},
        {"source", View(image.source)},
        {"architecture", View(image.architecture)},
        {"cuda", verdict.cuda
                     ? json::value(verdict.is_minor_known ? verdict.cuda->str()
                                                          : std::to_string(verdict.cuda->major))
                     : json::value()},
        {"lookedInto", image.is_looked_into},
        {"libraries", LibrariesJson(image)}}},
      {"host",
       {{"driver", host.driver.str()},
        {"cuda", View(host.cuda)},
        {"architecture", View(host.architecture)},
        {"gpus", GpusJson(host)}}}};
}

std::string PairsTable() {
  std::vector<std::string> head = {"CUDA"};
  for (const std::string_view driver : kPairDrivers) {
    head.emplace_back(BranchOf(driver));
  }
  report::Table table(std::move(head));
  for (const cuda::CudaVersion& cuda : kPairCudas) {
    std::vector<std::string> row = {cuda.str()};
    for (const std::string_view driver : kPairDrivers) {
      row.push_back(PairText(cuda, driver));
    }
    table.AddRow(std::move(row));
  }
  return table.Render();
}

json::value PairsJson() {
  json::array rows;
  for (const cuda::CudaVersion& cuda : kPairCudas) {
    json::object branches;
    for (const std::string_view driver : kPairDrivers) {
      branches[View(BranchOf(driver))] = PairText(cuda, driver);
    }
    rows.push_back(json::object{{"cuda", cuda.str()}, {"branches", std::move(branches)}});
  }
  return json::object{{"pairs", std::move(rows)}};
}

std::string PairsMarkdown() {
  std::string head = "| CUDA of the image |";
  std::string line = "|---|";
  for (const std::string_view driver : kPairDrivers) {
    fmt::format_to(std::back_inserter(head), " {} |", BranchOf(driver));
    line += "---|";
  }
  std::string text = fmt::format("{}\n{}\n", head, line);
  for (const cuda::CudaVersion& cuda : kPairCudas) {
    fmt::format_to(std::back_inserter(text), "| {} |", cuda.str());
    for (const std::string_view driver : kPairDrivers) {
      fmt::format_to(std::back_inserter(text), " {} |", PairText(cuda, driver));
    }
    text += "\n";
  }
  return text;
}

}  // namespace kgpu::image
