#include "testing/driver/running_server.h"

#include <future>
#include <utility>

#include "testing/driver/state_file.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

std::string Saved(const std::string& root, const SimState& state) {
  EXPECT_OK(SaveState(root, state));
  return root;
}

}  // namespace

RunningServer::RunningServer(const std::string& root) : loop_(*EpollLoop::Create()) {
  auto server = StateServer::Create(*loop_, {.root = root});
  EXPECT_OK(server);
  server_ = *std::move(server);
  thread_ = std::thread([this] { loop_->Run(); });
}

RunningServer::RunningServer(const std::string& root, const SimState& state)
    : RunningServer(Saved(root, state)) {
}

RunningServer::~RunningServer() {
  loop_->Quit();
  thread_.join();
}

void RunningServer::Change(const std::function<void(SimState&)>& change) {
  std::promise<Status> done;
  loop_->Post([&] {
    const auto next = std::make_unique<SimState>(server_->state());
    change(*next);
    done.set_value(server_->Replace(*next));
  });
  EXPECT_OK(done.get_future().get());
}

void RunningServer::Look(const std::function<void(const SimState&)>& look) {
  std::promise<void> done;
  loop_->Post([&] {
    // One more turn of the loop: what was there to read when this was posted is read then.
    loop_->Post([&] {
      look(server_->state());
      done.set_value();
    });
  });
  done.get_future().get();
}

}  // namespace kgpu::sim
