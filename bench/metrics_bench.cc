// What pages of series cost: 8 GPUs, 110 pods that share them, all three sets of names.
// docs/benchmarks.md explains the rows.
//   metrics-bench [SCRAPES [SECONDS]]      default 400 and 20
#include <fmt/format.h>
#include <podresources_v1.pb.h>
#include <sched.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "bench/scrape.h"
#include "bench/sim_node.h"
#include "src/node/telemetry/render.h"
#include "src/node/telemetry/test_node.h"
#include "src/platform/compress/gzip.h"
#include "src/platform/compress/unpack.h"
#include "testing/driver/control.h"
#include "testing/kubelet/fake_kubelet.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr unsigned kGpus = 8;
constexpr unsigned kPods = 110;
constexpr unsigned kFirstPid = 100'000;
const std::string kBin = KGPU_BIN_DIR;

[[noreturn]] void Fail(const std::string& what) {
  (void)std::fprintf(stderr, "metrics-bench: %s\n", what.c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): nothing else runs
}

// 8 GPUs in slots, 110 pods with one each, and a process of each pod on its GPU.
class BusyNode {
 public:
  BusyNode() : kubelet_({.root = kubelet_dir_.At("kubelet")}) {
    if (!kubelet_.Start().ok()) {
      Fail("the kubelet does not start");
    }
    sim::ControlClient control = sim::ControlClient::Connect(node_.host()).value();
    const HostFiles files{node_.host()};
    v1::ListPodResourcesResponse list;
    for (unsigned pod = 0; pod < kPods; ++pod) {
      AddPod(pod, control, files, list);
    }
    if (!kubelet_.ScriptPodResources(list.SerializeAsString()).ok()) {
      Fail("the kubelet takes no list");
    }
  }

  // Argv of an agent that measures each `every` and shows all sets on `port`.
  std::vector<std::string> Agent(uint16_t port, const std::string& every) const {
    node_.WriteConfig("auto",
                      fmt::format("http: {{address: \"127.0.0.1:{0}\"}}\n"
                                  "metrics:\n"
                                  "  names: [kgpu, dcgm, gke]\n"
                                  "  every: {1}\n"
                                  "  listen: {{dcgm: \"127.0.0.1:{0}\", gke: \"127.0.0.1:{0}\"}}\n"
                                  "pools:\n- share: {{by: time, replicas: 16}}\n",
                                  port, every));
    std::vector<std::string> argv = node_.Agent();
    argv.resize(argv.size() - 2);  // --http-address off
    for (size_t i = 0; i + 1 < argv.size(); ++i) {
      if (argv[i] == "--kubelet-dir") {
        argv[i + 1] = kubelet_dir_.At("kubelet");
      }
    }
    return argv;
  }

 private:
  // Files of the simulated host.
  struct HostFiles {
    std::string root;
    void Write(const std::string& path, const std::string& text) const {
      const std::filesystem::path file = root + "/" + path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text;
    }
  };

  void AddPod(unsigned pod, sim::ControlClient& control, const HostFiles& files,
              v1::ListPodResourcesResponse& list) const {
    const pods::Container user = telemetry::TestContainer(pod);
    const std::string uid = fmt::format("0f5c1d3e-6f2a-4a53-9d0c-{:012x}", pod);
    const unsigned pid = kFirstPid + pod;
    const unsigned gpu = pod % kGpus;
    v1::PodResources& resources = *list.add_pod_resources();
    resources.set_name(user.pod);
    resources.set_namespace_(user.pod_namespace);
    v1::ContainerResources& container = *resources.add_containers();
    container.set_name(user.container);
    v1::ContainerDevices& device = *container.add_devices();
    device.set_resource_name("nvidia.com/gpu");
    device.add_device_ids(fmt::format("{}::{}", uuids_.at(gpu), pod / kGpus));
    files.Write(fmt::format("proc/{}/cgroup", pid),
                fmt::format("0::/kubepods/burstable/pod{}/{:064x}\n", uid, pod));
    files.Write(fmt::format("var/log/pods/{}_{}_{}/{}/0.log", user.pod_namespace, user.pod, uid,
                            user.container),
                "");
    const auto answer =
        control.Run(fmt::format("process {} {} {} compute worker 5", gpu, pid, 512 + pod));
    if (!answer.ok()) {
      Fail(std::string(Message(answer.status())));
    }
  }

  std::vector<std::string> ReadUuids() const {
    std::vector<std::string> uuids;
    for (const auto& entry :
         std::filesystem::directory_iterator(node_.host() + "/proc/driver/nvidia/gpus")) {
      std::ifstream file(entry.path() / "information");
      for (std::string line; std::getline(file, line);) {
        if (const size_t at = line.find("GPU-"); at != line.npos) {
          uuids.push_back(line.substr(at, 40));
        }
      }
    }
    if (uuids.size() != kGpus) {
      Fail("the simulated host has other GPUs");
    }
    return uuids;
  }

  SimNode node_{"8xH100-SXM5-80GB"};
  std::vector<std::string> uuids_ = ReadUuids();
  TempDir kubelet_dir_;
  kubelet::FakeKubelet kubelet_;
};

// The body of an answer in gzip; "" for what is none.
std::string Unpack(const std::string& answer) {
  const std::string body = answer.substr(std::min(answer.size(), answer.find("\r\n\r\n") + 4));
  return compress::Gunzip(body, size_t{4} << 20).value_or("");
}

// Waits until a scrape has what all pods use. In gzip, as Prometheus asks: a plain page that was
// asked for once would be rendered again for some minutes.
void WaitForPage(uint16_t port) {
  const auto limit = steady_clock::now() + std::chrono::seconds(20);
  while (steady_clock::now() < limit) {
    const std::string page = Unpack(Scraper(port).Get("gzip"));
    size_t containers = 0;
    for (size_t at = page.find("\nkgpu_container_memory_used_bytes{"); at != page.npos;
         at = page.find("\nkgpu_container_memory_used_bytes{", at + 1)) {
      ++containers;
    }
    if (containers >= kPods) {
      return;
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
  Fail("the agent does not show the pods");
}

// Pages of the same input, made in this process.
void Render(std::vector<Row>& rows) {
  Row render = MakeRow("render the page (after a round, not in a scrape)", "ms", "-", "-");
  Row pack = MakeRow("gzip it, once", "ms", "-", "-");
  const telemetry::PageInput input = telemetry::TestNode(kGpus, kPods);
  for (int i = 0; i < 50; ++i) {
    auto start = steady_clock::now();
    const std::string page = telemetry::RenderPage(input, {.names = telemetry::NameSets::All()});
    render.samples.Add(Since(start, steady_clock::now()));
    start = steady_clock::now();
    compress::GzipWriter writer;
    writer.Add(page);
    (void)writer.Finish();
    pack.samples.Add(Since(start, steady_clock::now()));
  }
  rows.push_back(std::move(render));
  rows.push_back(std::move(pack));
}

size_t SamplesIn(const std::string& page) {
  const auto lines = std::ranges::count(page, '\n');
  size_t comments = 0;
  for (size_t at = page.find("\n#"); at != page.npos; at = page.find("\n#", at + 1)) {
    ++comments;
  }
  return static_cast<size_t>(lines) - comments;
}

// Both servers and the scraper on one core: where the scheduler puts whom costs more than what is
// compared, and it does not change its mind within a run.
class OneCore {
 public:
  explicit OneCore(pid_t server) : server_(server) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &before_)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    Set(one);
  }
  ~OneCore() { Set(before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  void Set(const cpu_set_t& cpus) const {
    sched_setaffinity(0, sizeof cpus, &cpus);
    sched_setaffinity(server_, sizeof cpus, &cpus);
  }

  const pid_t server_;
  cpu_set_t before_{};
};

void Scrapes(uint16_t port, const std::string& coding, int scrapes, std::vector<Row>& rows) {
  Scraper scraper(port);
  const std::string answer = scraper.Get(coding);
  Row row = MakeRow(
      fmt::format("scrape, {} kB{}", answer.size() / 1000,
                  coding.empty() ? fmt::format(", {} samples", SamplesIn(answer)) : ", " + coding),
      "us", "the same bytes from memory", "1.2x");
  const MemoryServer memory(answer);
  Scraper floor(memory.port());
  for (int i = 0; i < 20; ++i) {
    (void)floor.TimeGet(coding);
    (void)scraper.TimeGet(coding);
  }
  for (int i = 0; i < scrapes; ++i) {
    row.floor.Add(floor.TimeGet(coding));
    row.samples.Add(scraper.TimeGet(coding));
  }
  rows.push_back(std::move(row));
}

double CpuOf(const std::vector<pid_t>& pids) {
  double total = 0;
  for (const pid_t pid : pids) {
    total += CpuMs(pid);
  }
  return total;
}

// Rounds each second, a scrape after each, in gzip as Prometheus does.
void Cpu(const BusyNode& node, int seconds, std::vector<Row>& rows) {
  const uint16_t port = FreePort();
  const Daemon agent(node.Agent(port, "1s"));
  WaitForPage(port);
  const std::vector<pid_t> pids = {agent.pid(), FindChild("kgpu-probe", agent.pid())};
  Row round = MakeRow("CPU of a round and its scrape, agent and probe", "ms", "-", "-");
  Row hour = MakeRow("the same, an hour of rounds each 15 s", "s", "-", "-");
  Scraper scraper(port);
  for (int i = 0; i < seconds; ++i) {
    const double before = CpuOf(pids);
    std::this_thread::sleep_for(milliseconds(1000));
    (void)scraper.Get("gzip");
    const double cost = CpuOf(pids) - before;
    round.samples.Add(cost);
    hour.samples.Add(cost * 240 / 1000);
  }
  rows.push_back(std::move(round));
  rows.push_back(std::move(hour));
  const auto memory = [&](const std::string& what, double kib, const std::string& budget) {
    Row row = MakeRow(what, "MiB", "-", budget);
    row.samples.Add(kib / 1024);
    rows.push_back(std::move(row));
  };
  const Memory own = MemoryOf(pids[0]);
  const Memory probe = MemoryOf(pids[1]);
  memory("PSS with all of it, agent and probe", own.pss_kib + probe.pss_kib, "16");
  memory("RSS of the agent", own.rss_kib, "-");
}

int Main(int argc, char** argv) {
  const int scrapes = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 400;
  const int seconds = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 20;
  std::vector<Row> rows;
  Render(rows);
  const BusyNode node;
  {
    const uint16_t port = FreePort();
    const Daemon agent(node.Agent(port, "15s"));
    WaitForPage(port);
    const OneCore pin(agent.pid());
    Scrapes(port, "", scrapes, rows);
    Scrapes(port, "gzip", scrapes, rows);
  }
  Cpu(node, seconds, rows);
  (void)std::fputs(RenderRows(rows).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  return kgpu::bench::Main(argc, argv);
}
