// Route A: plugins that register on kubelet.sock, and what becomes of them.
#include <chrono>
#include <thread>

#include "src/platform/sys/unix_socket.h"
#include "testing/kubelet/kubelet_fixture.h"

namespace kgpu::kubelet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RegistrationTest : public KubeletFixture {
 protected:
  std::string socket() const { return kubelet_.layout().kubelet_socket(); }
  std::vector<std::string> Methods() const {
    std::vector<std::string> methods;
    for (const CallRecord& call : kubelet_.Calls()) {
      methods.push_back(call.method);
    }
    return methods;
  }
};

TEST_F(RegistrationTest, DevicesBecomeCapacity) {
  const auto plugin = Registered(3);
  EXPECT_EQ(kubelet_.Capacity(kWidget), 3);
  EXPECT_EQ(kubelet_.Allocatable(kWidget), 3);
  EXPECT_EQ(kubelet_.Capacity("example.com/other"), -1);
}

TEST_F(RegistrationTest, AsksForOptionsBeforeItAnswersRegister) {
  const auto plugin = Registered(1);
  EXPECT_THAT(Methods(), ElementsAre("Register", "GetDevicePluginOptions", "ListAndWatch",
                                     "ListAndWatchResponse"));
}

TEST_F(RegistrationTest, FailingOptionsFailTheRegistration) {
  const auto plugin = Plugin(2, {.get_options = [] { return Internal("out of order"); }});
  EXPECT_THAT(plugin->Register(socket()),
              StatusIs(static_cast<StatusCode>(2),  // Unknown
                       AllOf(HasSubstr("failed to get device plugin options"),
                             HasSubstr("code = Internal desc = out of order"))));
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), 1);
  EXPECT_EQ(kubelet_.CallCount("ListAndWatch"), 0);
  EXPECT_EQ(kubelet_.Capacity(kWidget), -1);
}

TEST_F(RegistrationTest, RefusesWrongVersionsAndNames) {
  const auto plugin = Plugin(1);
  EXPECT_THAT(plugin->RegisterAs(socket(), "v1alpha", kWidget, "widget.sock"),
              StatusIs(static_cast<StatusCode>(2), HasSubstr("v1alpha")));
  for (const char* name :
       {"widget", "example.com/a/b", "node.kubernetes.io/widget", "requests.example.com/widget"}) {
    EXPECT_THAT(plugin->RegisterAs(socket(), kApiVersion, name, "widget.sock"),
                StatusIs(static_cast<StatusCode>(2), HasSubstr("is invalid")))
        << name;
  }
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), 0);
}

TEST_F(RegistrationTest, AnEndpointThatNobodyServesFailsWithinTheDialLimit) {
  const auto plugin = Plugin(1);
  EXPECT_THAT(plugin->RegisterAs(socket(), kApiVersion, kWidget, "nobody.sock"),
              StatusIs(static_cast<StatusCode>(2), HasSubstr("nobody.sock")));
}

TEST_F(RegistrationTest, AFailingFirstStreamLeavesZeroAndIsNotRetried) {
  const auto plugin = Plugin(2, {.list_and_watch = [] { return Internal("no list"); }});
  EXPECT_OK(plugin->Register(socket()));
  EXPECT_TRUE(WaitForWidgets(0, 0));
  EXPECT_FALSE(kubelet_.WaitForCalls("ListAndWatch", 2, std::chrono::milliseconds(100)));
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), 1);
}

TEST_F(RegistrationTest, HealthMovesAllocatableOnly) {
  const auto plugin = Registered(4);
  plugin->SetHealth("dev-1", kUnhealthy);
  EXPECT_TRUE(WaitForWidgets(3, 4));
  plugin->SetHealth("dev-2", "a word of its own");
  EXPECT_TRUE(WaitForWidgets(2, 4));
  plugin->SetHealth("dev-1", kHealthy);
  EXPECT_TRUE(WaitForWidgets(3, 4));
}

TEST_F(RegistrationTest, NoDevicesAreLegalAndDuplicatesCountOnce) {
  const auto plugin = Registered(0);
  plugin->SetDevices({{"one", kHealthy, {}}, {"one", kUnhealthy, {}}, {"two", kHealthy, {}}});
  EXPECT_TRUE(WaitForWidgets(1, 2));
}

TEST_F(RegistrationTest, AStoppedPluginKeepsCapacityForTheGracePeriod) {
  auto plugin = Registered(2);
  plugin.reset();
  EXPECT_TRUE(WaitForWidgets(0, 2));
  EXPECT_TRUE(WaitForWidgets(0, 0));
}

TEST_F(RegistrationTest, APluginThatComesBackIsWelcome) {
  auto plugin = Registered(2);
  plugin.reset();
  EXPECT_TRUE(WaitForWidgets(0, 2));
  plugin = Registered(2);
}

TEST_F(RegistrationTest, AnEndedStreamIsTheEndUntilTheNextRegistration) {
  const auto plugin = Registered(2);
  plugin->EndStreams(OkStatus());
  EXPECT_TRUE(WaitForWidgets(0, 2));
  EXPECT_OK(plugin->Register(socket()));
  EXPECT_TRUE(WaitForWidgets(2, 2));
}

// The trap: the end of the old stream takes down whoever is registered then.
TEST_F(RegistrationTest, TheEndOfAnOldStreamDisconnectsTheNewClient) {
  const auto old_plugin = Registered(2);
  const SamplePlugin new_plugin({.socket_path = kubelet_.layout().device_plugins() + "/new.sock",
                                 .devices = SamplePlugin::Devices(3)});
  EXPECT_OK(new_plugin.Register(socket()));
  EXPECT_TRUE(WaitForWidgets(3, 3));
  old_plugin->EndStreams(OkStatus());
  EXPECT_TRUE(WaitForWidgets(0, 3));
  EXPECT_TRUE(kubelet_.WaitFor([&] { return new_plugin.streams() == 0; }));
}

TEST_F(RegistrationTest, AFailedRegistrationDetachesTheOldClient) {
  auto plugin = Registered(2);
  EXPECT_FALSE(plugin->RegisterAs(socket(), kApiVersion, kWidget, "nobody.sock").ok());
  const uint64_t calls = kubelet_.CallCount("ListAndWatch");
  plugin->EndStreams(OkStatus());
  EXPECT_TRUE(kubelet_.WaitFor([&] { return plugin->streams() == 0; }));
  EXPECT_EQ(kubelet_.Allocatable(kWidget), 2);  // nobody noticed
  EXPECT_EQ(kubelet_.CallCount("ListAndWatch"), calls);
}

TEST_F(RegistrationTest, ARestartRemovesSocketsAndForgetsDevices) {
  const auto plugin = Registered(2);
  dir_.WriteFile("kubelet/device-plugins/notes", "stay");
  ASSERT_OK(kubelet_.Restart());
  EXPECT_THAT(sys::ConnectUnix(kubelet_.layout().device_plugins() + "/widget.sock").status(),
              StatusIs(StatusCode::kNotFound));
  EXPECT_EQ(dir_.ReadFile("kubelet/device-plugins/notes"), "stay");
  EXPECT_EQ(kubelet_.Capacity(kWidget), 0);
  EXPECT_EQ(kubelet_.Allocatable(kWidget), 0);
}

TEST_F(RegistrationTest, AStoppedKubeletLeavesItsSocketBehind) {
  const auto plugin = Registered(1);
  kubelet_.Stop();
  EXPECT_THAT(plugin->Register(socket()), StatusIs(StatusCode::kUnavailable));
  EXPECT_EQ(kubelet_.Capacity(kWidget), 1);  // what the API server has got last
}

TEST_F(RegistrationTest, TheSocketMayBeThereBeforeAnyoneListens) {
  const auto plugin = Plugin(1);
  kubelet_.Stop();
  ASSERT_OK(kubelet_.Start(std::chrono::hours(1)));
  EXPECT_THAT(plugin->Register(socket()), StatusIs(StatusCode::kUnavailable));
  kubelet_.Stop();
  ASSERT_OK(kubelet_.Start(std::chrono::milliseconds(20)));
  const auto later = Plugin(1);
  const auto end = std::chrono::steady_clock::now() + FakeKubelet::kPatience;
  bool is_registered = false;
  while (!is_registered && std::chrono::steady_clock::now() < end) {
    is_registered = later->Register(socket()).ok();
  }
  EXPECT_TRUE(is_registered);
}

TEST_F(RegistrationTest, InjectedFaultsReachThePlugin) {
  const auto plugin = Plugin(1);
  kubelet_.Inject(kRegisterPoint, {.kind = FaultKind::kError, .text = "not today", .times = 1});
  EXPECT_THAT(plugin->Register(socket()),
              StatusIs(static_cast<StatusCode>(2), HasSubstr("not today")));
  kubelet_.Inject(kRegisterPoint, {.kind = FaultKind::kSkip, .times = 1});
  EXPECT_OK(plugin->Register(socket()));
  EXPECT_EQ(kubelet_.CallCount("GetDevicePluginOptions"), 0);
  kubelet_.Inject(kRegisterPoint,
                  {.kind = FaultKind::kDelay, .delay = std::chrono::milliseconds(10), .times = 1});
  EXPECT_OK(plugin->Register(socket()));
  EXPECT_TRUE(WaitForWidgets(1, 1));
}

TEST_F(RegistrationTest, AHangingRegistrationEndsWithTheKubelet) {
  const auto plugin = Plugin(1);
  kubelet_.Inject(kRegisterPoint, {.kind = FaultKind::kHang});
  Status status;
  std::jthread caller([&] { status = plugin->Register(socket()); });
  ASSERT_TRUE(kubelet_.WaitForCalls("Register", 1));
  kubelet_.Stop();
  caller.join();
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable));
}

TEST_F(RegistrationTest, DroppedStreamsAndCutConnectionsAreNoticedByBothSides) {
  const auto plugin = Registered(2);
  EXPECT_TRUE(kubelet_.DropStream(kWidget));
  EXPECT_TRUE(WaitForWidgets(0, 2));
  EXPECT_TRUE(kubelet_.WaitFor([&] { return plugin->streams() == 0; }));
  EXPECT_OK(plugin->Register(socket()));
  EXPECT_TRUE(WaitForWidgets(2, 2));
  EXPECT_TRUE(kubelet_.CutPluginConnection());
  EXPECT_TRUE(WaitForWidgets(0, 2));
  EXPECT_FALSE(kubelet_.DropStream("example.com/other"));
}

TEST_F(RegistrationTest, TakesAThousandLongIds) {
  std::vector<Device> devices;
  for (int i = 0; i < 1024; ++i) {
    devices.push_back({fmt::format("{:x>63}", i), kHealthy, {}});
  }
  const auto plugin = Registered(0);
  plugin->SetDevices(devices);
  EXPECT_TRUE(WaitForWidgets(1024, 1024));
}

TEST_F(RegistrationTest, AMessageOfMoreThanFourMebibytesEndsTheStream) {
  const auto plugin = Registered(1);
  plugin->SetDevices({{std::string(size_t{5} << 20, 'x'), kHealthy, {}}});
  EXPECT_TRUE(WaitForWidgets(0, 1));
}

TEST_F(RegistrationTest, ANewNodeStartsAtZero) {
  const auto plugin = Registered(2);
  kubelet_.Stop();
  ASSERT_EQ(unlink(kubelet_.layout().checkpoint().c_str()), 0);
  ASSERT_OK(kubelet_.Start());
  EXPECT_EQ(kubelet_.Capacity(kWidget), 0);
}

}  // namespace
}  // namespace kgpu::kubelet
