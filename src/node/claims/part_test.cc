// The part with the kubelet's calls over its socket, and the stub API server in the loop's time.
#include "src/node/claims/part.h"

#include <dra_health_v1alpha1.grpc.pb.h>
#include <dra_v1.grpc.pb.h>
#include <dra_v1beta1.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <boost/json.hpp>
#include <filesystem>
#include <future>
#include <memory>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "src/node/claims/test_claims.h"
#include "src/node/part/test_effects.h"
#include "src/platform/base/log.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::claims {
namespace {

namespace json = boost::json;
namespace v1 = ::k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = ::k8s::io::kubelet::pkg::apis::dra::v1beta1;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSlicesPath[] = "/apis/resource.k8s.io/v1/resourceslices";
constexpr char kClaimsPath[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

class ClaimPartTest : public ::testing::Test {
 protected:
  ClaimPartTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    dir_.MakeDir("host/var/run/cdi");
    dir_.MakeDir("kubelet/plugins_registry");
    host_ = std::make_unique<sys::Root>(*sys::Root::Open(dir_.At("host")));
    effects_.state.snapshot = claims_.snapshot;
    effects_.state.pod_list.asked = loop_.clock().Now();
    injection::Injection injection;
    injection.plan = claims_.plan;
    effects_.state.injection = std::make_shared<injection::Injection>(std::move(injection));
    effects_.on_update = [this] {
      if (part_) {
        part_->Update(effects_.now());
      }
    };
    Start();
  }
  void Start() {
    part_.reset();
    part_ = std::make_unique<ClaimPart>(
        loop_, *host_,
        ClaimPartOptions{.node = "n1",
                         .kubelet_dir = dir_.At("kubelet"),
                         .files = {.state_dir = dir_.At("state"), .boot_id = "b1"}},
        pods::AtOnce(), effects_,
        ClaimPartHooks{.client = [this] { return &client_; },
                       .node_uid = [] { return "u1"; },
                       .places = [](bool) { return sharing::Places{.slices = "/share"}; },
                       .renew_slots = {},
                       .close = {},
                       .open = {},
                       .read = {},
                       .set_mps = [this](auto claimed) { mps_ = std::move(claimed); },
                       .mps_health = [](const std::string&) { return device::Health(); },
                       .end_mps = [](const std::string&) { return true; },
                       .runtime_problem = [] { return ""; },
                       .changed = [] {}});
  }
  void TearDown() override {
    part_.reset();
    SetLogSink({});
  }

  void Configure(std::string_view text) {
    effects_.state.config = std::make_shared<config::NodeConfig>(pools::TestConfig(text));
    effects_.state.assignment = std::make_shared<pools::Assignment>(
        pools::AssignDevices(*claims_.snapshot, *effects_.state.config));
    part_->OnShown(effects_.now());
    Settle();
  }
  void Settle(std::chrono::nanoseconds time = seconds(2)) {
    loop_.RunUntilIdle();
    loop_.Advance(time);
  }
  std::string Socket() const {
    return dir_.At("kubelet/plugins_registry/kgpu-gpu.nvidia.com.sock");
  }
  // The result of a call that blocks, made by another thread while the loop runs.
  template <typename Call>
  auto Await(Call call) {
    auto result = std::async(std::launch::async, std::move(call));
    while (result.wait_for(milliseconds(1)) != std::future_status::ready) {
      loop_.RunUntilIdle();
      loop_.Advance(milliseconds(20));
    }
    return result.get();
  }
  // "ok", or the error of a call of the plugin's service.
  template <typename Stub, typename Request, typename Response>
  std::string Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   Stub& stub, const Request& request, Response& response) {
    const grpc::Status status = Await([&] {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + seconds(20));
      return (stub.*method)(&context, request, &response);
    });
    return status.ok() ? "ok" : status.error_message();
  }
  // For the claim "c".
  static v1::NodePrepareResourcesRequest RequestFor(const std::string& uid) {
    v1::NodePrepareResourcesRequest request;
    auto* claim = request.add_claims();
    claim->set_namespace_("default");
    claim->set_name("c");
    claim->set_uid(uid);
    return request;
  }
  std::shared_ptr<grpc::Channel> Connect() const {
    StatusOr<UniqueFd> fd = sys::ConnectUnix(Socket());
    EXPECT_OK(fd);
    return rpc::ChannelOver(fd.ok() ? *std::move(fd) : UniqueFd());
  }
  std::vector<std::string> DevicesAt(std::string_view path) {
    std::vector<std::string> names;
    const auto list = api_.Do("GET", std::string(path), nullptr);
    EXPECT_OK(list);
    for (const json::value& slice : list->at("items").as_array()) {
      const json::value* devices = kube::FindField(slice, {"spec", "devices"});
      for (const json::value& device : devices == nullptr ? json::array() : devices->as_array()) {
        names.emplace_back(kube::NameOf({{"metadata", device}}));
      }
    }
    return names;
  }
  std::string MakeClaim(const std::string& device, const std::string& name = "c") {
    auto text = json::parse(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
            "metadata":{"namespace":"default"},"spec":{"devices":{"requests":[
            {"name":"r","exactly":{"deviceClassName":"gpu.nvidia.com"}}]}}})");
    text.at("metadata").as_object()["name"] = name;
    const auto made = api_.Do("POST", kClaimsPath, text);
    EXPECT_OK(made);
    json::object claim = made.value_or(json::object());
    claim["status"] = {{"allocation",
                        {{"devices",
                          {{"results", json::array{{{"request", "r"},
                                                    {"driver", dra::kDriverName},
                                                    {"pool", "n1"},
                                                    {"device", device}}}}}}}}};
    EXPECT_OK(api_.Do("PUT", fmt::format("{}/{}/status", kClaimsPath, name), claim));
    return std::string(kube::TextField(claim, {"metadata", "uid"}));
  }

  TempDir dir_;
  FakeLoop loop_;
  std::unique_ptr<sys::Root> host_;
  Random random_{1};
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  TestClaims claims_;
  node::TestEffects effects_;
  std::map<std::string, mps::Settings> mps_;
  std::unique_ptr<ClaimPart> part_;
};

TEST_F(ClaimPartTest, PublishesWhatClaimsMayHave) {
  Configure("serve: {by: dra}\n");
  EXPECT_THAT(DevicesAt(kSlicesPath), ElementsAre("gpu-0", "gpu-1"));
  Configure("pools: [{devices: {index: [0]}, provider: dra, resource: example.com/x}, {}]\n");
  EXPECT_THAT(DevicesAt(kSlicesPath), ElementsAre("gpu-0"));
}

// The driver is replaced, or hangs.
TEST_F(ClaimPartTest, ADriverThatDoesNotAnswerTakesNoDeviceAway) {
  Configure("serve: {by: dra}\n");
  auto silent = std::make_shared<device::Snapshot>();
  silent->driver.state = device::DriverState::kUnresponsive;
  effects_.state.snapshot = silent;
  part_->Update(effects_.now());
  Settle();
  EXPECT_THAT(DevicesAt(kSlicesPath), ElementsAre("gpu-0", "gpu-1"));
  const auto list = api_.Do("GET", kSlicesPath, nullptr);
  EXPECT_THAT(json::serialize(*list), HasSubstr("kgpu.dev/unhealthy"));
  effects_.state.snapshot = claims_.snapshot;
  part_->Update(effects_.now());
  Settle();
  EXPECT_THAT(json::serialize(*api_.Do("GET", kSlicesPath, nullptr)),
              ::testing::Not(HasSubstr("taints")));
}

TEST_F(ClaimPartTest, WithoutSuchPoolsNothingIsPublishedOrServed) {
  Configure("");
  EXPECT_THAT(DevicesAt(kSlicesPath), IsEmpty());
  EXPECT_FALSE(host_->Exists(Socket()));
  EXPECT_FALSE(sys::ConnectUnix(Socket()).ok());
  EXPECT_FALSE(part_->is_serving());
  EXPECT_EQ(part_->problem(), "");
}

TEST_F(ClaimPartTest, RegistersByTheVersionsThatItServes) {
  Configure("serve: {by: dra}\n");
  EXPECT_THAT(part_->problem(), HasSubstr("has not discovered"));
  const auto stub = pluginregistration::Registration::NewStub(Connect());
  pluginregistration::PluginInfo info;
  EXPECT_EQ(Call(&pluginregistration::Registration::Stub::GetInfo, *stub,
                 pluginregistration::InfoRequest(), info),
            "ok");
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "gpu.nvidia.com");
  EXPECT_THAT(info.supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"));
  pluginregistration::RegistrationStatus status;
  pluginregistration::RegistrationStatusResponse response;
  status.set_error("no such version");
  EXPECT_EQ(Call(&pluginregistration::Registration::Stub::NotifyRegistrationStatus, *stub, status,
                 response),
            "ok");
  Settle();
  EXPECT_THAT(part_->problem(), HasSubstr("no such version"));
  status.set_plugin_registered(true);
  EXPECT_EQ(Call(&pluginregistration::Registration::Stub::NotifyRegistrationStatus, *stub, status,
                 response),
            "ok");
  Settle();
  EXPECT_EQ(part_->problem(), "");
  EXPECT_TRUE(part_->is_ready());
}

// DR-16: claims wait, with the reason in the node's status; all else goes on.
TEST_F(ClaimPartTest, ASocketThatCannotBeOpenedIsReportedAndTriedAgain) {
  dir_.MakeDir("kubelet/plugins_registry/kgpu-gpu.nvidia.com.sock");
  Configure("serve: {by: dra}\n");
  EXPECT_FALSE(part_->is_ready());
  EXPECT_THAT(part_->problem(), HasSubstr("kgpu-gpu.nvidia.com.sock"));
  EXPECT_THAT(DevicesAt(kSlicesPath), SizeIs(2)) << "the API server is not the kubelet";
  std::filesystem::remove(Socket());
  Settle(seconds(11));
  EXPECT_THAT(part_->problem(), HasSubstr("has not discovered"));
  EXPECT_TRUE(sys::ConnectUnix(Socket()).ok());
}

TEST_F(ClaimPartTest, AFolderThatIsMissingIsReportedAndTriedAgain) {
  std::filesystem::remove(dir_.At("kubelet/plugins_registry"));
  Configure("serve: {by: dra}\n");
  EXPECT_FALSE(part_->is_ready());
  EXPECT_THAT(part_->problem(), HasSubstr("plugins_registry"));
  dir_.MakeDir("kubelet/plugins_registry");
  Settle(seconds(11));
  EXPECT_TRUE(sys::ConnectUnix(Socket()).ok());
}

TEST_F(ClaimPartTest, ASocketThatVanishesComesBackForANewRegistration) {
  Configure("serve: {by: dra}\n");
  const auto register_driver = [this] {
    const auto stub = pluginregistration::Registration::NewStub(Connect());
    pluginregistration::RegistrationStatus status;
    status.set_plugin_registered(true);
    pluginregistration::RegistrationStatusResponse response;
    EXPECT_EQ(Call(&pluginregistration::Registration::Stub::NotifyRegistrationStatus, *stub, status,
                   response),
              "ok");
    Settle();
  };
  register_driver();
  ASSERT_TRUE(part_->is_ready());
  std::filesystem::remove(Socket());
  Settle(seconds(11));
  EXPECT_FALSE(part_->is_ready());
  EXPECT_THAT(part_->problem(), HasSubstr("has not discovered"));
  register_driver();
  EXPECT_TRUE(part_->is_ready());
}

TEST_F(ClaimPartTest, PreparesByBothVersions) {
  Configure("serve: {by: dra}\n");
  const std::string uid = MakeClaim("gpu-1");
  const auto channel = Connect();
  const auto stub = v1::DRAPlugin::NewStub(channel);
  const v1::NodePrepareResourcesRequest request = RequestFor(uid);
  v1::NodePrepareResourcesResponse response;
  EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodePrepareResources, *stub, request, response), "ok");
  ASSERT_EQ(response.claims().count(uid), 1U);
  EXPECT_EQ(response.claims().at(uid).error(), "");
  ASSERT_THAT(response.claims().at(uid).devices(), SizeIs(1));
  const v1::Device& device = response.claims().at(uid).devices(0);
  EXPECT_EQ(device.device_name(), "gpu-1");
  EXPECT_EQ(device.pool_name(), "n1");
  EXPECT_THAT(device.request_names(), ElementsAre("r"));
  EXPECT_THAT(device.cdi_device_ids(), ElementsAre(fmt::format("kgpu.dev/claim={}-gpu-1", uid)));

  const auto older = v1beta1::DRAPlugin::NewStub(channel);
  v1beta1::NodeUnprepareResourcesRequest ends;
  auto* ended = ends.add_claims();
  ended->set_uid(uid);
  v1beta1::NodeUnprepareResourcesResponse answer;
  EXPECT_EQ(Call(&v1beta1::DRAPlugin::Stub::NodeUnprepareResources, *older, ends, answer), "ok");
  EXPECT_EQ(answer.claims().count(uid), 1U);
  EXPECT_EQ(answer.claims().at(uid).error(), "");
}

TEST_F(ClaimPartTest, KnowsTheDevicesOfItsClaims) {
  Configure("serve: {by: dra}\n");
  const std::string uid = MakeClaim("gpu-1");
  const v1::NodePrepareResourcesRequest request = RequestFor(uid);
  v1::NodePrepareResourcesResponse response;
  const auto stub = v1::DRAPlugin::NewStub(Connect());
  EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodePrepareResources, *stub, request, response), "ok");
  pods::ClaimedDevice device{.claim_namespace = "default",
                             .claim = "c",
                             .driver = std::string(dra::kDriverName),
                             .device = "gpu-1"};
  EXPECT_THAT(part_->IdsOf(device), ElementsAre(pools::TestGpuName(1)));
  device.claim = "d";
  EXPECT_THAT(part_->IdsOf(device), IsEmpty());
}

TEST_F(ClaimPartTest, AfterADamageTheKubeletsListCounts) {
  dir_.WriteFile("state/claims.json", "{");
  effects_.state.pod_list.asked.reset();
  Start();
  Configure("serve: {by: dra}\n");
  const std::string uid = MakeClaim("gpu-1");
  const auto stub = v1::DRAPlugin::NewStub(Connect());
  const auto prepare = [&] {
    const v1::NodePrepareResourcesRequest request = RequestFor(uid);
    v1::NodePrepareResourcesResponse response;
    EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodePrepareResources, *stub, request, response), "ok");
    return response.claims().at(uid).error();
  };
  EXPECT_THAT(prepare(), HasSubstr("the kubelet has not said yet"));
  auto pods = std::make_shared<pods::PodMap>();
  pods->devices.push_back({.resource = std::string(dra::kDriverName),
                           .device_id = pools::TestGpuName(1),
                           .claim = {.claim_namespace = "ml",
                                     .claim = "train",
                                     .driver = std::string(dra::kDriverName),
                                     .pool = "n1",
                                     .device = "gpu-1"}});
  effects_.state.pods = pods;
  effects_.state.pod_list.asked = loop_.clock().Now();
  EXPECT_THAT(prepare(), HasSubstr("gpu-1 is prepared for claim ml/train"));
  pods = std::make_shared<pods::PodMap>(*pods);
  pods->devices[0].claim = {.claim_namespace = "default",
                            .claim = "c",
                            .driver = std::string(dra::kDriverName),
                            .pool = "n1",
                            .device = "gpu-1"};
  effects_.state.pods = pods;
  EXPECT_EQ(prepare(), "") << "its own";
}

TEST_F(ClaimPartTest, ErrorsAreThoseOfTheirClaim) {
  Configure("serve: {by: dra}\n");
  const std::string uid = MakeClaim("gpu-1");
  const auto stub = v1::DRAPlugin::NewStub(Connect());
  v1::NodePrepareResourcesRequest request;
  for (const std::string& one : {uid, std::string("gone")}) {
    auto* claim = request.add_claims();
    claim->set_namespace_("default");
    claim->set_name(one == uid ? "c" : "d");
    claim->set_uid(one);
  }
  v1::NodePrepareResourcesResponse response;
  EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodePrepareResources, *stub, request, response), "ok");
  ASSERT_THAT(response.claims(), SizeIs(2));
  EXPECT_EQ(response.claims().at(uid).error(), "");
  EXPECT_THAT(response.claims().at("gone").error(), HasSubstr("read claim default/d"));
}

TEST_F(ClaimPartTest, SendsHealthOnEachChangeAndAgain) {
  Configure("serve: {by: dra}\n");
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(Connect());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(30));
  const auto stream = Await([&] { return stub->NodeWatchResources(&context, {}); });
  v1alpha1::NodeWatchResourcesResponse list;
  ASSERT_TRUE(Await([&] { return stream->Read(&list); }));
  ASSERT_THAT(list.devices(), SizeIs(2));
  EXPECT_EQ(list.devices(0).device().device_name(), "gpu-0");
  EXPECT_EQ(list.devices(0).device().pool_name(), "n1");
  EXPECT_EQ(list.devices(0).health(), v1alpha1::HEALTHY);

  pools::Assignment marked = *effects_.state.assignment;
  marked.resources[0].slots[0].health = {.is_healthy = false, .reason = "Xid", .message = "XID 79"};
  effects_.state.assignment = std::make_shared<pools::Assignment>(std::move(marked));
  part_->OnShown(effects_.now());
  ASSERT_TRUE(Await([&] { return stream->Read(&list); }));
  EXPECT_EQ(list.devices(0).health(), v1alpha1::UNHEALTHY);
  EXPECT_EQ(list.devices(0).message(), "XID 79");
  ASSERT_TRUE(Await([&] { return stream->Read(&list); })) << "again, since the kubelet forgets it";
  EXPECT_EQ(list.devices(1).health(), v1alpha1::HEALTHY);
  context.TryCancel();
}

TEST_F(ClaimPartTest, ServesPreparedClaimsAfterTheChangeBack) {
  Configure("serve: {by: dra}\n");
  const std::string uid = MakeClaim("gpu-1");
  auto stub = v1::DRAPlugin::NewStub(Connect());
  const v1::NodePrepareResourcesRequest request = RequestFor(uid);
  v1::NodePrepareResourcesResponse response;
  EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodePrepareResources, *stub, request, response), "ok");
  EXPECT_EQ(response.claims().at(uid).error(), "");
  // The next agent, too: the kubelet removes no slices of a driver that it sees.
  Start();
  Configure("");
  EXPECT_THAT(DevicesAt(kSlicesPath), IsEmpty());
  stub = v1::DRAPlugin::NewStub(Connect());
  v1::NodeUnprepareResourcesRequest ends;
  ends.add_claims()->set_uid(uid);
  v1::NodeUnprepareResourcesResponse ended;
  EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodeUnprepareResources, *stub, ends, ended), "ok");
  EXPECT_EQ(ended.claims().at(uid).error(), "");
  // One that was allocated before.
  const std::string late = MakeClaim("gpu-0", "d");
  v1::NodePrepareResourcesRequest late_request = RequestFor(late);
  late_request.mutable_claims(0)->set_name("d");
  EXPECT_EQ(Call(&v1::DRAPlugin::Stub::NodePrepareResources, *stub, late_request, response), "ok");
  EXPECT_THAT(response.claims().at(late).error(), HasSubstr("delete the pod"));
  Settle(seconds(10));
  EXPECT_FALSE(sys::ConnectUnix(Socket()).ok()) << "nothing is left to serve";
}

TEST_F(ClaimPartTest, LeavesTheNodeToNvidiasDriver) {
  auto other = sys::UnixListener::Listen(
      dir_.At("kubelet/plugins_registry/gpu.nvidia.com-0c5a-reg.sock"), {});
  ASSERT_OK(other);
  Configure("serve: {by: dra}\n");
  EXPECT_THAT(part_->problem(), HasSubstr("NVIDIA's DRA driver"));
  EXPECT_THAT(DevicesAt(kSlicesPath), IsEmpty());
  EXPECT_FALSE(sys::ConnectUnix(Socket()).ok());
  other = InvalidArgument("ended");
  Settle(seconds(30));
  EXPECT_THAT(DevicesAt(kSlicesPath), SizeIs(2));
}

}  // namespace
}  // namespace kgpu::claims
