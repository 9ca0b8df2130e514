// What it costs to tell why a pod has no GPU, from a saved cluster of 1,000 nodes with 20 pods each
// as kubectl prints it. The floor of the same run: reading the same text as JSON and no more.
//   explain-bench [RUNS]      default 7
#include <sys/resource.h>

#include <boost/json.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "src/diagnose/explain/dump.h"
#include "src/diagnose/explain/explain.h"
#include "src/diagnose/explain/view.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::bench {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
using std::chrono::steady_clock;

constexpr int kNodes = 1000;
constexpr int kPodsOfNode = 20;

// About as large as a real one: what is not judged is there to be passed over.
void AddNode(std::string& text, int node) {
  auto out = std::back_inserter(text);
  fmt::format_to(out,
                 R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{:04}","labels":{{
"nvidia.com/gpu.present":"true","nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB"}},"annotations":{{
"volumes.kubernetes.io/controller-managed-attach-detach":"true"}}}},"spec":{{"taints":[{{"key":
"nvidia.com/gpu","value":"present","effect":"NoSchedule"}}]}},"status":{{"capacity":{{"cpu":"128",
"memory":"1056763876Ki","pods":"110","nvidia.com/gpu":"8"}},"allocatable":{{"cpu":"127","memory":
"1050000000Ki","pods":"110","nvidia.com/gpu":"8"}},"conditions":[{{"type":"Ready","status":"True"}},
{{"type":"GPUHealthy","status":"True","reason":"AllHealthy"}}],"images":[)",
                 node);
  for (int image = 0; image < 50; ++image) {
    fmt::format_to(out,
                   R"({}{{"names":["registry.example.com/team/image@sha256:{:064}",
"registry.example.com/team/image:{}"],"sizeBytes":{}}})",
                   image == 0 ? "" : ",", image, image, image * 1000);
  }
  text += "]}},\n";
}

void AddPod(std::string& text, int node, int pod) {
  auto out = std::back_inserter(text);
  fmt::format_to(out,
                 R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{0:04}-{1}",
"namespace":"team-{2}","uid":"{0:08}-{1:04}","labels":{{"app":"pod"}},"annotations":{{"checksum":
"{0:064}"}}}},"spec":{{"nodeName":"node-{0:04}","containers":[{{"name":"main","image":
"registry.example.com/team/image:{1}","command":["/usr/bin/python3","-m","train"],"env":[)",
                 node, pod, pod % 8);
  for (int variable = 0; variable < 20; ++variable) {
    fmt::format_to(out, R"({}{{"name":"VARIABLE_{}","value":"some value of it"}})",
                   variable == 0 ? "" : ",", variable);
  }
  fmt::format_to(out,
                 R"(],"resources":{{"requests":{{"cpu":"2","memory":"8Gi"}},"limits":{{"cpu":"4"{}}}
}}}}],"tolerations":[{{"operator":"Exists"}}]}},"status":{{"phase":"Running","startTime":
"2026-03-01T08:00:00Z","containerStatuses":[{{"name":"main","ready":true,"state":{{"running":{{
"startedAt":"2026-03-01T08:00:00Z"}}}}}}]}}}},
)",
                 pod < 4 ? R"(,"nvidia.com/gpu":"2")" : "");
}

std::string LargeCluster() {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (int node = 0; node < kNodes; ++node) {
    AddNode(text, node);
    for (int pod = 0; pod < kPodsOfNode; ++pod) {
      AddPod(text, node, pod);
    }
  }
  text += R"({"kind":"Pod","metadata":{"name":"train","namespace":"team-0","uid":"u"},"spec":{
"tolerations":[{"operator":"Exists"}],"containers":[{"name":"main","resources":{"limits":{
"nvidia.com/gpu":"2"}}}]},"status":{"phase":"Pending"}}]})";
  return text;
}

template <typename Work>
double TimeOf(const Work& work) {
  const auto start = steady_clock::now();
  const size_t answer = work();
  const double took = Milliseconds(steady_clock::now() - start).count();
  if (answer == 0) {
    (void)std::fputs("no answer\n", stderr);
  }
  return took;
}

size_t ParseOnly(const std::string& text) {
  const auto value = doc::ParseJson(text, "list.json", {.bytes = text.size()});
  return value.ok() ? 1 : 0;
}

size_t ExplainAll(const std::string& text, bool says) {
  const auto dump = explain::ReadDump(text, "list.json");
  if (!dump.ok()) {
    return 0;
  }
  const explain::Report report = explain::Explain(explain::FactsOf(*dump, "team-0", "train"));
  const std::string shown = explain::ReportText(report, 10);
  if (says) {
    (void)std::printf("%s\n", report.verdict.c_str());
  }
  return shown.size();
}

size_t JudgeOnly(const explain::Dump& dump) {
  return explain::ReportText(explain::Explain(explain::FactsOf(dump, "team-0", "train")), 10)
      .size();
}

int Run(int runs) {
  const std::string text = LargeCluster();
  (void)std::printf("%zu MiB of JSON\n", text.size() >> 20);
  ExplainAll(text, true);
  rusage usage = {};
  (void)getrusage(RUSAGE_SELF, &usage);
  (void)std::printf("peak of resident memory, the text included: %ld MiB\n",
                    usage.ru_maxrss / 1024);
  const auto dump = explain::ReadDump(text, "list.json");
  if (!dump.ok()) {
    return 1;
  }
  Row all{"read and judge", "ms", {}, "JSON alone", {}, "-"};
  Row judge{"judge what is read", "ms", {}, "", {}, "-"};
  for (int run = 0; run < runs; ++run) {
    all.floor.Add(TimeOf([&] { return ParseOnly(text); }));
    all.samples.Add(TimeOf([&] { return ExplainAll(text, false); }));
    judge.samples.Add(TimeOf([&] { return JudgeOnly(*dump); }));
  }
  (void)std::printf("%s", RenderRows({all, judge}).c_str());
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "7");
  return kgpu::bench::Run(static_cast<int>(runs.value_or(7)));
}
