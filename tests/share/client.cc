// A program that uses CUDA's driver in one way after the other: `client WAY STEP…` prints a line
// for each step. WAY is how it finds the driver's functions; sizes are in MiB.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/gpu/cuda_abi/functions.h"

namespace cu = kgpu::cuda_api;

namespace {

constexpr uint64_t kMiB = 1 << 20;

// How this process finds the driver; set once, at its start.
struct Access {
  void* driver;
  std::string way;
};
Access& TheAccess() {
  static Access access;
  return access;
}

// The function by the way that the command line asks for.
void* Find(const std::string& name) {
  if (TheAccess().way == "default") {
    return dlsym(RTLD_DEFAULT, name.c_str());
  }
  if (TheAccess().way == "dlvsym-of-dlsym") {  // asks the C library for its dlsym first
    void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    using Dlsym = void*(void*, const char*);
    auto* found = reinterpret_cast<Dlsym*>(dlsym(libc, "dlsym"));
    return found(TheAccess().driver, name.c_str());
  }
  return dlsym(TheAccess().driver, name.c_str());
}

template <typename Fn, typename... Args>
int Call(const char* name, Args... args) {
  auto* function = reinterpret_cast<Fn*>(Find(name));
  return function == nullptr ? -1 : static_cast<int>(function(args...));
}

struct Client {
  uint64_t mapped = 0x10000000;  // where memory is mapped, unless the driver says
  std::vector<uint64_t> pointers;
  std::vector<uint64_t> handles;
  cu::Context context = nullptr;
  cu::GraphExec exec = nullptr;
  cu::MemoryPool pool = nullptr;
  cu::Stream stream = nullptr;
};

// What the driver does while the next call frees something, as another thread could.
struct Beside {
  Client* client;
  uint64_t bytes;
};
Beside& TheBeside() {
  static Beside beside;
  return beside;
}

int CallBeside(Client& client, uint64_t bytes, void (*beside)()) {
  TheBeside() = {.client = &client, .bytes = bytes};
  auto* meanwhile =
      reinterpret_cast<void (*)(void (*)())>(dlsym(TheAccess().driver, "fake_meanwhile"));
  if (meanwhile == nullptr) {
    return -5;
  }
  meanwhile(beside);
  return 0;
}

int LaunchKernel(Client& /*client*/, uint64_t /*bytes*/) {
  constexpr uintptr_t kQuick = 20;  // kernels in this stream of the test's driver take no time
  return Call<cu::LaunchKernelFn>("cuLaunchKernel", cu::Function{}, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                                  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle
                                  reinterpret_cast<cu::Stream>(kQuick),
                                  static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

// Handles are numbers until the driver sees them.
template <typename Handle>
Handle HandleOf(uint64_t key) {
  return reinterpret_cast<Handle>(key);  // NOLINT(performance-no-int-to-ptr)
}

using GetPoolFn = cu::Result(cu::MemoryPool* pool, cu::Location* location, cu::AllocationType type);
using Step = int (*)(Client& client, uint64_t bytes);

int Alloc(Client& client, uint64_t bytes) {
  cu::DevicePointer pointer = 0;
  const int result = Call<cu::MemAllocFn>("cuMemAlloc_v2", &pointer, bytes);
  if (result == 0) {
    client.pointers.push_back(pointer);
  }
  return result;
}

template <typename Fn>
int FreeLast(Client& client, const char* name) {
  if (client.pointers.empty()) {
    return -2;
  }
  const uint64_t pointer = client.pointers.back();
  client.pointers.pop_back();
  return Call<Fn>(name, pointer);
}

cu::Array3dDescriptor Volume(uint64_t bytes) {
  return {.width = 1024,
          .height = 1024,
          .depth = bytes / kMiB,
          .format = cu::kFormatUint8,
          .channels = 1,
          .flags = 0};
}

int Threads(Client& /*client*/, uint64_t bytes) {
  std::vector<std::thread> threads;
  threads.reserve(64);
  cu::Context context = nullptr;
  (void)Call<cu::CtxGetCurrentFn>("cuCtxGetCurrent", &context);
  auto* alloc = reinterpret_cast<cu::MemAllocFn*>(Find("cuMemAlloc_v2"));
  auto* free_it = reinterpret_cast<cu::MemFreeFn*>(Find("cuMemFree_v2"));
  auto* set = reinterpret_cast<cu::CtxSetCurrentFn*>(Find("cuCtxSetCurrent"));
  for (int thread = 0; thread < 64; ++thread) {
    threads.emplace_back([=] {
      (void)set(context);
      for (int turn = 0; turn < 200; ++turn) {
        cu::DevicePointer pointer = 0;
        if (alloc(&pointer, bytes) == cu::kSuccess) {
          (void)free_it(pointer);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 0;
}

int ReadHandle(void* handle, size_t size) {
  FILE* file = fopen("handle", "re");
  const size_t read = file == nullptr ? 0 : fread(handle, 1, size, file);
  if (file != nullptr) {
    (void)fclose(file);
  }
  return read == size ? 0 : -3;
}

int WriteHandle(const void* handle, size_t size) {
  FILE* file = fopen("handle", "we");
  const size_t written = file == nullptr ? 0 : fwrite(handle, 1, size, file);
  return file != nullptr && fclose(file) == 0 && written == size ? 0 : -3;
}

// A socket in the current folder, by which a descriptor goes from one client to another.
constexpr sockaddr_un kHandOver = {.sun_family = AF_UNIX, .sun_path = "hand-over"};

const sockaddr* HandOverAddress() {
  return reinterpret_cast<const sockaddr*>(&kHandOver);
}

// A message of one byte with room for a descriptor.
struct Message {
  char letter = 'x';
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{.iov_base = &letter, .iov_len = 1};
  msghdr header{.msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = &control[0],
                .msg_controllen = sizeof(control)};
};

// Gives the descriptor to whoever asks for it as long as this process lives.
int HandOver(int descriptor) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)unlink(&kHandOver.sun_path[0]);
  if (bind(listener, HandOverAddress(), sizeof(kHandOver)) != 0 || listen(listener, 8) != 0) {
    return -3;
  }
  std::thread([listener, descriptor] {
    for (;;) {
      const int taker = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      Message message;
      cmsghdr* control = CMSG_FIRSTHDR(&message.header);
      control->cmsg_level = SOL_SOCKET;
      control->cmsg_type = SCM_RIGHTS;
      control->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
      (void)sendmsg(taker, &message.header, MSG_NOSIGNAL);
      (void)close(taker);
    }
  }).detach();
  return 0;
}

// The descriptor that another client hands over, or -1.
int TakeOver() {
  const int giver = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Message message;
  int descriptor = -1;
  if (connect(giver, HandOverAddress(), sizeof(kHandOver)) == 0 &&
      recvmsg(giver, &message.header, MSG_CMSG_CLOEXEC) == 1) {
    const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
    if (control != nullptr) {
      memcpy(&descriptor, CMSG_DATA(control), sizeof(int));
    }
  }
  (void)close(giver);
  return descriptor;
}

int Export(Client& client, uint64_t /*bytes*/) {
  int descriptor = -1;
  const int result = client.handles.empty()
                         ? -2
                         : Call<cu::MemExportToShareableHandleFn>(
                               "cuMemExportToShareableHandle", static_cast<void*>(&descriptor),
                               client.handles.back(), cu::kHandlePosixFileDescriptor, uint64_t{0});
  return result == 0 ? HandOver(descriptor) : result;
}

int Import(Client& client, uint64_t /*bytes*/) {
  const int descriptor = TakeOver();
  cu::AllocationHandle handle = 0;
  const int result = Call<cu::MemImportFromShareableHandleFn>(
      "cuMemImportFromShareableHandle", &handle, HandleOf<void*>(static_cast<uint64_t>(descriptor)),
      cu::kHandlePosixFileDescriptor);
  (void)close(descriptor);
  client.handles.push_back(handle);
  return result;
}

cu::PoolProperties SharedPool() {
  cu::PoolProperties properties{};
  properties.type = cu::kPinned;
  properties.handle_types = cu::kHandlePosixFileDescriptor;
  properties.location = {.type = cu::kLocationDevice, .id = 0};
  return properties;
}

// A pool whose memory other clients may have.
int MakeSharedPool(Client& client, uint64_t /*bytes*/) {
  const cu::PoolProperties properties = SharedPool();
  int descriptor = -1;
  int result = Call<cu::MemPoolCreateFn>("cuMemPoolCreate", &client.pool, &properties);
  if (result == 0) {
    result = Call<cu::MemPoolExportToShareableHandleFn>(
        "cuMemPoolExportToShareableHandle", static_cast<void*>(&descriptor), client.pool,
        cu::kHandlePosixFileDescriptor, uint64_t{0});
  }
  return result == 0 ? HandOver(descriptor) : result;
}

int ImportPool(Client& client, uint64_t /*bytes*/) {
  const int descriptor = TakeOver();
  const int result = Call<cu::MemPoolImportFromShareableHandleFn>(
      "cuMemPoolImportFromShareableHandle", &client.pool,
      HandleOf<void*>(static_cast<uint64_t>(descriptor)), cu::kHandlePosixFileDescriptor,
      uint64_t{0});
  (void)close(descriptor);
  return result;
}

cu::AllocationProperties DeviceMemory(cu::HandleType handles = cu::kHandleNone) {
  cu::AllocationProperties properties{};
  properties.type = cu::kPinned;
  properties.requested_handle_types = handles;
  properties.location = {.type = cu::kLocationDevice, .id = 0};
  return properties;
}

int Create(Client& client, uint64_t bytes, cu::HandleType handles) {
  const cu::AllocationProperties properties = DeviceMemory(handles);
  cu::AllocationHandle handle = 0;
  const int result = Call<cu::MemCreateFn>("cuMemCreate", &handle, bytes, &properties, uint64_t{0});
  if (result == 0) {
    client.handles.push_back(handle);
  }
  return result;
}

const std::map<std::string, Step> kSteps = {
    {"init", [](Client&, uint64_t) { return Call<cu::InitFn>("cuInit", 0U); }},
    {"ctx",
     [](Client& client, uint64_t) {
       return Call<cu::CtxCreateFn>("cuCtxCreate_v2", &client.context, 0U, 0);
     }},
    {"ctx-on-second",
     [](Client& client, uint64_t) {
       return Call<cu::CtxCreateFn>("cuCtxCreate_v2", &client.context, 0U, 1);
     }},
    {"ctx-end", [](Client& client,
                   uint64_t) { return Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", client.context); }},
    {"primary",
     [](Client& client, uint64_t) {
       const int result =
           Call<cu::DevicePrimaryCtxRetainFn>("cuDevicePrimaryCtxRetain", &client.context, 0);
       return result == 0 ? Call<cu::CtxSetCurrentFn>("cuCtxSetCurrent", client.context) : result;
     }},
    {"primary-release",
     [](Client&, uint64_t) {
       return Call<cu::DevicePrimaryCtxReleaseFn>("cuDevicePrimaryCtxRelease_v2", 0);
     }},
    {"primary-reset",
     [](Client&, uint64_t) {
       return Call<cu::DevicePrimaryCtxResetFn>("cuDevicePrimaryCtxReset_v2", 0);
     }},
    {"primary-by-table",  // as CUDA's runtime gets it
     [](Client&, uint64_t) {
       return Call<cu::CtxSetCurrentFn>("cuCtxSetCurrent", HandleOf<cu::Context>(0x1000));
     }},
    {"adopt",  // a context that nobody has made through us
     [](Client&, uint64_t) {
       return Call<cu::CtxSetCurrentFn>("cuCtxSetCurrent", HandleOf<cu::Context>(0x2000));
     }},
    {"heap",
     [](Client&, uint64_t bytes) { return Call<int(int, size_t)>("cuCtxSetLimit", 2, bytes); }},
    {"alloc", &Alloc},
    {"free",
     [](Client& client, uint64_t) { return FreeLast<cu::MemFreeFn>(client, "cuMemFree_v2"); }},
    {"free-null",
     [](Client&, uint64_t) { return Call<cu::MemFreeFn>("cuMemFree_v2", uint64_t{0}); }},
    {"free-async",
     [](Client& client, uint64_t) {
       const uint64_t pointer = client.pointers.back();
       client.pointers.pop_back();
       return Call<cu::MemFreeAsyncFn>("cuMemFreeAsync", pointer, cu::Stream{});
     }},
    {"pitch",
     [](Client& client, uint64_t bytes) {
       cu::DevicePointer pointer = 0;
       size_t pitch = 0;
       const int result = Call<cu::MemAllocPitchFn>("cuMemAllocPitch_v2", &pointer, &pitch,
                                                    size_t{1 << 20}, bytes / kMiB, 4U);
       client.pointers.push_back(pointer);
       return result;
     }},
    {"managed",
     [](Client& client, uint64_t bytes) {
       cu::DevicePointer pointer = 0;
       const int result = Call<cu::MemAllocManagedFn>("cuMemAllocManaged", &pointer, bytes, 1U);
       client.pointers.push_back(pointer);
       return result;
     }},
    {"host",
     [](Client& client, uint64_t bytes) {
       void* pointer = nullptr;
       const int result = Call<cu::MemHostAllocFn>("cuMemHostAlloc", &pointer, bytes, 0U);
       client.pointers.push_back(reinterpret_cast<uint64_t>(pointer));
       return result;
     }},
    {"async",
     [](Client& client, uint64_t bytes) {
       cu::DevicePointer pointer = 0;
       const int result =
           Call<cu::MemAllocAsyncFn>("cuMemAllocAsync", &pointer, bytes, cu::Stream{});
       if (result == 0) {
         client.pointers.push_back(pointer);
       }
       return result;
     }},
    {"stream",
     [](Client& client, uint64_t) {
       return Call<cu::StreamCreateFn>("cuStreamCreate", &client.stream, 0U);
     }},
    {"async-in-stream",
     [](Client& client, uint64_t bytes) {
       cu::DevicePointer pointer = 0;
       return Call<cu::MemAllocAsyncFn>("cuMemAllocAsync", &pointer, bytes, client.stream);
     }},
    {"sync", [](Client&, uint64_t) { return Call<cu::CtxSynchronizeFn>("cuCtxSynchronize"); }},
    {"pool",
     [](Client& client, uint64_t) {
       cu::PoolProperties properties{};
       properties.type = cu::kPinned;
       properties.location = {.type = cu::kLocationDevice, .id = 0};
       return Call<cu::MemPoolCreateFn>("cuMemPoolCreate", &client.pool, &properties);
     }},
    {"pool-managed",
     [](Client& client, uint64_t) {
       cu::PoolProperties properties{};
       properties.type = cu::kManaged;
       return Call<cu::MemPoolCreateFn>("cuMemPoolCreate", &client.pool, &properties);
     }},
    {"pool-of-host",
     [](Client& client, uint64_t) {
       cu::Location location{.type = cu::kLocationHost, .id = 0};
       return Call<GetPoolFn>("cuMemGetDefaultMemPool", &client.pool, &location, cu::kPinned);
     }},
    {"pool-of-nowhere",
     [](Client& client, uint64_t) {
       cu::Location location{};
       return Call<GetPoolFn>("cuMemGetDefaultMemPool", &client.pool, &location, cu::kManaged);
     }},
    {"pool-end-default",
     [](Client&, uint64_t) {
       cu::MemoryPool pool = nullptr;
       (void)Call<cu::DeviceGetMemPoolFn>("cuDeviceGetMemPool", &pool, 0);
       return Call<cu::MemPoolDestroyFn>("cuMemPoolDestroy", pool);
     }},
    {"beside-pool",
     [](Client& client, uint64_t bytes) {
       return CallBeside(client, bytes, [] {
         cu::PoolProperties properties{};
         properties.type = cu::kPinned;
         properties.location = {.type = cu::kLocationDevice, .id = 0};
         (void)Call<cu::MemPoolCreateFn>("cuMemPoolCreate", &TheBeside().client->pool, &properties);
       });
     }},
    {"beside-create",
     [](Client& client, uint64_t bytes) {
       return CallBeside(client, bytes, [] {
         const cu::AllocationProperties properties = DeviceMemory();
         cu::AllocationHandle handle = 0;
         (void)Call<cu::MemCreateFn>("cuMemCreate", &handle, TheBeside().bytes, &properties,
                                     uint64_t{0});
         TheBeside().client->handles.push_back(handle);
       });
     }},
    {"pool-alloc",
     [](Client& client, uint64_t bytes) {
       cu::DevicePointer pointer = 0;
       const int result = Call<cu::MemAllocFromPoolAsyncFn>("cuMemAllocFromPoolAsync", &pointer,
                                                            bytes, client.pool, cu::Stream{});
       if (result == 0) {
         client.pointers.push_back(pointer);
       }
       return result;
     }},
    {"pool-trim",
     [](Client& client, uint64_t) {
       return Call<cu::MemPoolTrimToFn>("cuMemPoolTrimTo", client.pool, size_t{0});
     }},
    {"pool-end",
     [](Client& client, uint64_t) {
       return Call<cu::MemPoolDestroyFn>("cuMemPoolDestroy", client.pool);
     }},
    {"pool-export",
     [](Client& client, uint64_t) {
       cu::PoolPointerExport data{};
       const int result = client.pointers.empty()
                              ? -2
                              : Call<cu::MemPoolExportPointerFn>("cuMemPoolExportPointer", &data,
                                                                 client.pointers.back());
       return result == 0 ? WriteHandle(&data, sizeof(data)) : result;
     }},
    {"pool-import",
     [](Client& client, uint64_t) {
       cu::PoolPointerExport data{};
       cu::DevicePointer pointer = 0;
       int result = ReadHandle(&data, sizeof(data));
       if (result == 0) {
         result = Call<cu::MemPoolImportPointerFn>("cuMemPoolImportPointer", &pointer, client.pool,
                                                   &data);
         client.pointers.push_back(pointer);
       }
       return result;
     }},
    {"create",
     [](Client& client, uint64_t bytes) { return Create(client, bytes, cu::kHandleNone); }},
    {"create-shared",  // for other clients, too
     [](Client& client, uint64_t bytes) {
       return Create(client, bytes, cu::kHandlePosixFileDescriptor);
     }},
    {"create-on-host",
     [](Client& client, uint64_t bytes) {
       cu::AllocationProperties properties = DeviceMemory();
       properties.location = {.type = cu::kLocationHost, .id = 0};
       cu::AllocationHandle handle = 0;
       const int result =
           Call<cu::MemCreateFn>("cuMemCreate", &handle, bytes, &properties, uint64_t{0});
       client.handles.push_back(handle);
       return result;
     }},
    {"map",
     [](Client& client, uint64_t bytes) {
       if (client.handles.empty()) {
         return -2;
       }
       (void)Call<cu::MemAddressReserveFn>("cuMemAddressReserve", &client.mapped, bytes, size_t{0},
                                           uint64_t{0}, uint64_t{0});
       return Call<cu::MemMapFn>("cuMemMap", client.mapped, bytes, size_t{0}, client.handles.back(),
                                 uint64_t{0});
     }},
    {"unmap",
     [](Client& client, uint64_t bytes) {
       return Call<cu::MemUnmapFn>("cuMemUnmap", client.mapped, bytes);
     }},
    {"retain",
     [](Client& client, uint64_t) {
       cu::AllocationHandle handle = 0;
       return Call<cu::MemRetainAllocationHandleFn>("cuMemRetainAllocationHandle", &handle,
                                                    HandleOf<void*>(client.mapped));
     }},
    {"release",
     [](Client& client, uint64_t) {
       return Call<cu::MemReleaseFn>("cuMemRelease", client.handles.back());
     }},
    {"export", &Export},
    {"import", &Import},
    {"pool-shared", &MakeSharedPool},
    {"pool-take", &ImportPool},
    {"array",
     [](Client& client, uint64_t bytes) {
       const cu::ArrayDescriptor descriptor{
           .width = 1 << 16, .height = bytes >> 16, .format = cu::kFormatUint8, .channels = 1};
       cu::Array array = nullptr;
       const int result = Call<cu::ArrayCreateFn>("cuArrayCreate_v2", &array, &descriptor);
       client.pointers.push_back(reinterpret_cast<uint64_t>(array));
       return result;
     }},
    {"array3d",
     [](Client& client, uint64_t bytes) {
       const cu::Array3dDescriptor descriptor = Volume(bytes);
       cu::Array array = nullptr;
       const int result = Call<cu::Array3dCreateFn>("cuArray3DCreate_v2", &array, &descriptor);
       client.pointers.push_back(reinterpret_cast<uint64_t>(array));
       return result;
     }},
    {"array-end",
     [](Client& client, uint64_t) {
       return Call<cu::ArrayDestroyFn>("cuArrayDestroy",
                                       HandleOf<cu::Array>(client.pointers.back()));
     }},
    {"mipmap",
     [](Client& client, uint64_t bytes) {
       const cu::Array3dDescriptor descriptor = Volume(bytes);
       cu::MipmappedArray array = nullptr;
       const int result =
           Call<cu::MipmappedArrayCreateFn>("cuMipmappedArrayCreate", &array, &descriptor, 1U);
       client.pointers.push_back(reinterpret_cast<uint64_t>(array));
       return result;
     }},
    {"ipc-get",
     [](Client& client, uint64_t) {
       cu::IpcMemoryHandle handle{};
       const int result =
           client.pointers.empty()
               ? -2
               : Call<cu::IpcGetMemHandleFn>("cuIpcGetMemHandle", &handle, client.pointers.back());
       return result == 0 ? WriteHandle(&handle, sizeof(handle)) : result;
     }},
    {"ipc-open",
     [](Client& client, uint64_t) {
       cu::IpcMemoryHandle handle{};
       cu::DevicePointer pointer = 0;
       int result = ReadHandle(&handle, sizeof(handle));
       if (result == 0) {
         result = Call<cu::IpcOpenMemHandleFn>("cuIpcOpenMemHandle_v2", &pointer, handle, 1U);
         client.pointers.push_back(pointer);
       }
       return result;
     }},
    {"ipc-close",
     [](Client& client, uint64_t) {
       return FreeLast<cu::IpcCloseMemHandleFn>(client, "cuIpcCloseMemHandle");
     }},
    {"external",
     [](Client&, uint64_t bytes) {
       cu::ExternalMemoryDescription description{};
       description.type = cu::kExternalOpaqueFd;
       description.size = bytes;
       cu::ExternalMemory memory = nullptr;
       return Call<cu::ImportExternalMemoryFn>("cuImportExternalMemory", &memory, &description);
     }},
    {"graph",
     [](Client& client, uint64_t bytes) {
       cu::Graph graph = nullptr;
       cu::GraphNode node = nullptr;
       cu::MemoryAllocationNodeParams params{};
       params.size = bytes;
       params.pool.location = {.type = cu::kLocationDevice, .id = 0};
       params.pool.type = cu::kPinned;
       int result = Call<cu::GraphCreateFn>("cuGraphCreate", &graph, 0U);
       if (result == 0) {
         result = Call<cu::GraphAddMemAllocNodeFn>("cuGraphAddMemAllocNode", &node, graph,
                                                   static_cast<const cu::GraphNode*>(nullptr),
                                                   size_t{0}, &params);
       }
       return result != 0 ? result
                          : Call<cu::GraphInstantiateWithFlagsFn>("cuGraphInstantiateWithFlags",
                                                                  &client.exec, graph, uint64_t{0});
     }},
    {"capture",  // the same as a stream's calls: an allocation and its free
     [](Client& client, uint64_t bytes) {
       cu::Stream stream = nullptr;
       cu::Graph graph = nullptr;
       cu::DevicePointer pointer = 0;
       int results[6] = {};
       results[0] = Call<cu::StreamCreateFn>("cuStreamCreate", &stream, 0U);
       results[1] = Call<cu::StreamBeginCaptureFn>("cuStreamBeginCapture_v2", stream,
                                                   cu::kCaptureThreadLocal);
       results[2] = Call<cu::MemAllocAsyncFn>("cuMemAllocAsync", &pointer, bytes, stream);
       results[3] = Call<cu::MemFreeAsyncFn>("cuMemFreeAsync", pointer, stream);
       results[4] = Call<cu::StreamEndCaptureFn>("cuStreamEndCapture", stream, &graph);
       results[5] = results[4] != 0
                        ? 0
                        : Call<cu::GraphInstantiateWithFlagsFn>("cuGraphInstantiateWithFlags",
                                                                &client.exec, graph, uint64_t{0});
       for (const int result : results) {
         if (result != 0) {
           return result;
         }
       }
       return 0;
     }},
    {"launch",
     [](Client& client, uint64_t) {
       return Call<cu::GraphLaunchFn>("cuGraphLaunch", client.exec, cu::Stream{});
     }},
    {"kernel", &LaunchKernel},
    {"beside-kernel",
     [](Client& client, uint64_t bytes) {
       return CallBeside(client, bytes,
                         [] { (void)LaunchKernel(*TheBeside().client, TheBeside().bytes); });
     }},
    {"events",  // that the driver was asked for
     [](Client&, uint64_t) {
       auto* count =
           reinterpret_cast<uint64_t (*)()>(dlsym(TheAccess().driver, "fake_event_count"));
       return count == nullptr ? -5 : static_cast<int>(count());
     }},
    {"graph-trim",
     [](Client&, uint64_t) { return Call<cu::DeviceGraphMemTrimFn>("cuDeviceGraphMemTrim", 0); }},
    {"threads", &Threads},
    {"race",  // takes pieces until there is none left, frees them, a hundred times
     [](Client&, uint64_t bytes) {
       auto* alloc = reinterpret_cast<cu::MemAllocFn*>(Find("cuMemAlloc_v2"));
       auto* free_it = reinterpret_cast<cu::MemFreeFn*>(Find("cuMemFree_v2"));
       for (int turn = 0; turn < 100; ++turn) {
         std::vector<cu::DevicePointer> pieces(1);
         while (alloc(&pieces.back(), bytes) == cu::kSuccess) {
           pieces.push_back(0);
         }
         for (const cu::DevicePointer piece : pieces) {
           (void)free_it(piece);
         }
       }
       return 0;
     }},
    {"future",
     [](Client&, uint64_t bytes) {
       cu::DevicePointer pointer = 0;
       return Call<cu::MemAllocFn>("cuMemAllocFuture", &pointer, bytes);
     }},
    {"table",
     [](Client&, uint64_t bytes) {
       const void* table = nullptr;
       cu::Uuid id{};
       constexpr uint8_t kRuntime[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                       0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
       if (bytes == 0) {
         memcpy(&id, &kRuntime[0], sizeof(id));
       }
       return Call<cu::GetExportTableFn>("cuGetExportTable", &table, &id);
     }},
    {"kill", [](Client&, uint64_t) { return raise(SIGKILL); }},
    {"hold",  // says so, and goes on when its input ends
     [](Client&, uint64_t) {
       printf("held\n");
       (void)fflush(stdout);
       char letter = 0;
       return static_cast<int>(read(STDIN_FILENO, &letter, 1));
     }},
    {"use-descriptors",  // until there is none left
     [](Client&, uint64_t) {
       while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
       }
       return 0;
     }},
    {"close-descriptors",
     [](Client&, uint64_t) {
       for (int descriptor = 3; descriptor < 64; ++descriptor) {
         (void)close(descriptor);
       }
       return 0;
     }},
    {"fork",  // the child does nothing with CUDA and ends
     [](Client&, uint64_t) {
       const pid_t child = fork();
       if (child == 0) {
         _exit(0);
       }
       int status = 0;
       return waitpid(child, &status, 0) == child && status == 0 ? 0 : -4;
     }},
};

void PrintInfo() {
  size_t free_bytes = 0;
  size_t total = 0;
  size_t device_total = 0;
  const int result = Call<cu::MemGetInfoFn>("cuMemGetInfo_v2", &free_bytes, &total);
  (void)Call<cu::DeviceTotalMemFn>("cuDeviceTotalMem_v2", &device_total, 0);
  printf("info %d free=%zu total=%zu device=%zu\n", result, free_bytes / kMiB, total / kMiB,
         device_total / kMiB);
}

// Asks for `name` of CUDA version `version`, allocates with it if it is cuMemAlloc.
void PrintProc(const std::string& name, int version) {
  void* function = nullptr;
  cu::ProcAddressStatus status = cu::kProcFound;
  const int result = Call<cu::GetProcAddressFn>("cuGetProcAddress_v2", name.c_str(), &function,
                                                version, uint64_t{0}, &status);
  const bool is_ours = function == Find(name + "_v2") || function == Find(name);
  printf("proc %d %s\n", result, function == nullptr ? "null" : is_ours ? "as dlsym" : "other");
}

void Run(Client& client, const std::string& step) {
  const size_t colon = step.find(':');
  const std::string name = step.substr(0, colon);
  const std::string value = colon == std::string::npos ? "0" : step.substr(colon + 1);
  const auto found = kSteps.find(name);
  if (name == "info") {
    PrintInfo();
  } else if (name == "proc") {
    const size_t at = value.find('@');
    PrintProc(value.substr(0, at), static_cast<int>(strtol(value.c_str() + at + 1, nullptr, 10)));
  } else if (found == kSteps.end()) {
    printf("unknown step %s\n", name.c_str());
  } else {
    printf("%s %d\n", name.c_str(),
           found->second(client, strtoull(value.c_str(), nullptr, 10) * kMiB));
  }
  (void)fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  TheAccess().way = argv[1];
  TheAccess().driver =
      dlopen("libcuda.so.1", RTLD_NOW | (TheAccess().way == "default" ? RTLD_GLOBAL : RTLD_LOCAL));
  if (TheAccess().driver == nullptr) {
    printf("no driver\n");
    return 1;
  }
  Client client;
  for (int at = 2; at < argc; ++at) {
    Run(client, argv[at]);
  }
  return 0;
}
