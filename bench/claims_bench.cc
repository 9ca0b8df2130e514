// What claims of DRA cost: the kubelet's calls to the built agent with the stub API server, beside
// what they cannot do without, a request to that server and a durable write; and the slices of a
// large node.
//   claims-bench [CALLS]     default 300
#include <dra_v1.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "bench/measure.h"
#include "bench/process.h"
#include "bench/sim_node.h"
#include "src/node/dra/offer.h"
#include "src/node/dra/slices.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::bench {
namespace {

namespace json = boost::json;
namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kClaims[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

[[noreturn]] void Fail(const std::string& what) {
  (void)std::fprintf(stderr, "claims-bench: %s\n", what.c_str());
  std::_Exit(1);
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A node whose agent serves claims, and a cluster for it.
class ClaimNode {
 public:
  ClaimNode(const char* profile, const std::string& pools, std::string device)
      : node_(profile),
        kubeconfig_(node_.run_dir() + "-kubeconfig"),
        server_({std::string(KGPU_BIN_DIR) + "/kgpu-sim", "apiserver", "--kubeconfig-out",
                 kubeconfig_}),
        device_(std::move(device)) {
    Await([&] { return !Address().empty(); });
    Ask("POST", "/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})");
    node_.WriteConfig("cdi-cri", "serve: {by: dra}\n" + pools);
    std::vector<std::string> argv = node_.Agent();
    argv.insert(argv.end(), {"--kubeconfig", kubeconfig_, "--node", "n1"});
    agent_ = std::make_unique<Daemon>(argv);
    const std::string socket = node_.kubelet() + "/plugins_registry/kgpu-gpu.nvidia.com.sock";
    Await([&] { return sys::ConnectUnix(socket).ok(); });
    Await([&] {
      return Ask("GET", "/apis/resource.k8s.io/v1/resourceslices", "").find("gpu-7") !=
             std::string::npos;
    });
    stub_ = v1::DRAPlugin::NewStub(rpc::ChannelOver(*sys::ConnectUnix(socket)));
    claim_ = MakeClaim();
  }

  std::string Ask(const std::string& method, const std::string& target,
                  const std::string& body) const {
    http::Request request{.method = method, .target = target, .body = body};
    request.headers.Add("Content-Type", "application/json");
    const auto answer = http::Fetch(Address(), request);
    return answer.ok() ? answer->body : "";
  }
  // Milliseconds of a call.
  double Prepare() const {
    v1::NodePrepareResourcesRequest request;
    auto* claim = request.add_claims();
    claim->set_namespace_("default");
    claim->set_name("c");
    claim->set_uid(claim_);
    v1::NodePrepareResourcesResponse response;
    grpc::ClientContext context;
    const auto begun = steady_clock::now();
    const grpc::Status status = stub_->NodePrepareResources(&context, request, &response);
    const double took = Since(begun, steady_clock::now());
    if (!status.ok() || !response.claims().at(claim_).error().empty()) {
      Fail("prepare: " + status.error_message() + response.claims().at(claim_).error());
    }
    return took;
  }
  double Unprepare() const {
    v1::NodeUnprepareResourcesRequest request;
    request.add_claims()->set_uid(claim_);
    v1::NodeUnprepareResourcesResponse response;
    grpc::ClientContext context;
    const auto begun = steady_clock::now();
    if (!stub_->NodeUnprepareResources(&context, request, &response).ok()) {
      Fail("unprepare");
    }
    return Since(begun, steady_clock::now());
  }
  // The same request to the server, and a file of about that size on the same disk.
  double Read() const {
    const auto begun = steady_clock::now();
    (void)Ask("GET", fmt::format("{}/c", kClaims), "");
    return Since(begun, steady_clock::now());
  }
  double Write() const {
    const auto begun = steady_clock::now();
    if (!sys::WriteFileAtomically(node_.run_dir() + "-record", std::string(600, 'x')).ok()) {
      Fail("write");
    }
    return Since(begun, steady_clock::now());
  }
  pid_t pid() const { return agent_->pid(); }

 private:
  template <typename Condition>
  static void Await(Condition is_met) {
    for (int i = 0; !is_met(); ++i) {
      if (i > 2000) {
        Fail("the node does not start");
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  // "127.0.0.1:8080", from the kubeconfig; empty: not written yet.
  std::string Address() const {
    const std::string text = ReadText(kubeconfig_);
    const size_t at = text.find("http://");
    return at == std::string::npos ? ""
                                   : text.substr(at + 7, text.find_first_of("\"\n", at) - at - 7);
  }
  std::string MakeClaim() const {
    json::value claim = json::parse(
        Ask("POST", kClaims,
            R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c",
                "namespace":"default"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{
                "deviceClassName":"gpu.nvidia.com"}}]}}})"));
    const json::value result = {
        {"request", "gpu"}, {"driver", "gpu.nvidia.com"}, {"pool", "n1"}, {"device", device_}};
    claim.as_object()["status"] = {
        {"allocation", {{"devices", {{"results", json::array{result}}}}}}};
    (void)Ask("PUT", fmt::format("{}/c/status", kClaims), json::serialize(claim));
    return std::string(claim.at("metadata").at("uid").as_string());
  }

  SimNode node_;
  const std::string kubeconfig_;
  Daemon server_;
  const std::string device_;
  std::unique_ptr<Daemon> agent_;
  std::unique_ptr<v1::DRAPlugin::Stub> stub_;
  std::string claim_;
};

void Calls(int calls, std::vector<Row>& rows) {
  const ClaimNode node("8xA100-SXM4-80GB", "", "gpu-3");
  Row prepare =
      MakeRow("prepare a claim of one GPU", "ms", "the claim's GET and a durable write", "5");
  Row unprepare = MakeRow("give it back", "ms", "a durable write", "-");
  Row again = MakeRow("prepare it again: the same answer", "ms", "an idle loop", "-");
  for (int i = 0; i < calls; ++i) {
    prepare.floor.Add(node.Read() + node.Write());
    prepare.samples.Add(node.Prepare());
    again.samples.Add(node.Prepare());
    unprepare.floor.Add(node.Write());
    unprepare.samples.Add(node.Unprepare());
  }
  Row tail = MakeRow("the first at p99", "ms", "its floor at p99", "-");
  tail.samples.Add(prepare.samples.Quantile(0.99));
  tail.floor.Add(prepare.floor.Quantile(0.99));
  Row memory = MakeRow("PSS of agent and probe, with claims", "MiB", "", "16");
  memory.samples.Add(
      (MemoryOf(node.pid()).pss_kib + MemoryOf(FindChild("kgpu-probe", node.pid())).pss_kib) /
      1024);
  for (Row* row : {&prepare, &tail, &again, &unprepare, &memory}) {
    rows.push_back(std::move(*row));
  }
}

// A helper process makes the MIG device, through the simulated driver, which takes no time.
void MadeDevices(int calls, std::vector<Row>& rows) {
  const ClaimNode node("8xH100-SXM5-80GB", "pools: [{mig: dynamic}]\n", "gpu-3-mig-3g40gb-9-0");
  Row make = MakeRow("prepare a claim of a MIG device, which is made", "ms",
                     "the claim's GET and two durable writes", "-");
  Row remove = MakeRow("give it back, which removes the device", "ms", "two durable writes", "-");
  for (int i = 0; i < calls; ++i) {
    make.floor.Add(node.Read() + node.Write() + node.Write());
    make.samples.Add(node.Prepare());
    remove.floor.Add(node.Write() + node.Write());
    remove.samples.Add(node.Unprepare());
  }
  rows.push_back(std::move(make));
  rows.push_back(std::move(remove));
}

// 16 B200, each with all its MIG placements.
void Slices(std::vector<Row>& rows) {
  device::Snapshot snapshot;
  pools::Assignment assignment;
  dra::OfferOptions options;
  pools::Resource& pool = assignment.resources.emplace_back();
  pool.name = "nvidia.com/gpu";
  for (unsigned i = 0; i < 16; ++i) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid =
        *device::GpuUuid::Parse(fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b{:04x}", i));
    gpu.index = gpu.minor = i;
    gpu.pci = {.domain = 0, .bus = static_cast<uint8_t>(i), .device = 0, .function = 0};
    gpu.pci_device_id = 0x2901;
    gpu.model = "B200";
    gpu.memory = gpu.usable_memory = GibiBytes(180);
    options.partitioned.insert(gpu.uuid.str());
    pools::Slot& slot = pool.slots.emplace_back();
    slot.id = slot.device_uuid = gpu.uuid.str();
    slot.gpu = gpu.uuid;
  }
  Row build = MakeRow("slices of 16 B200 with all MIG placements", "ms", "", "-");
  Row bytes = MakeRow("  their size", "KiB", "", "-");
  for (int i = 0; i < 50; ++i) {
    const auto begun = steady_clock::now();
    const auto cards = dra::OffersOf(snapshot, assignment.resources, options);
    const auto specs = dra::SliceSpecs({.name = "n1", .uid = "u"}, cards);
    build.samples.Add(Since(begun, steady_clock::now()));
    size_t size = 0;
    for (const json::object& spec : specs) {
      size += json::serialize(spec).size();
    }
    bytes.samples.Add(static_cast<double>(size) / 1024);
  }
  rows.push_back(std::move(build));
  rows.push_back(std::move(bytes));
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto calls = argc > 1 ? kgpu::ParseUint(argv[1]).value_or(300) : 300;
  std::vector<kgpu::bench::Row> rows;
  kgpu::bench::Calls(static_cast<int>(calls), rows);
  kgpu::bench::MadeDevices(static_cast<int>(calls) / 10, rows);
  kgpu::bench::Slices(rows);
  (void)std::fputs(kgpu::bench::RenderRows(rows).c_str(), stdout);
  return 0;
}
