#include "documents/child_limits.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <vector>

namespace saccade {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the system call filter does not know this architecture"
#endif

// Refused with EPERM. A list of what is refused and not of what is allowed: the libraries behind fonts and
// memory differ between systems, and the dangerous calls do not.
const std::vector<uint32_t>& RefusedCalls() {
  static const std::vector<uint32_t> calls = {
    // The network.
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    // Other programs and processes.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_kill,
    SYS_tkill,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_setns,
    SYS_unshare,
    // The file system.
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mknodat,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_fchown,
    SYS_fchmod,
    SYS_truncate,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setxattr,
    SYS_utimensat,
    // The kernel's larger doors.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_io_uring_setup,
    SYS_userfaultfd,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_reboot,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_unlink,
    SYS_rename,
    SYS_mkdir,
    SYS_rmdir,
    SYS_link,
    SYS_symlink,
    SYS_mknod,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_creat,
    SYS_utime,
    SYS_utimes,
#endif
  };
  return calls;
}

Status InstallFilter() {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
#if defined(__x86_64__)
  // Numbers from here on belong to the x32 ABI, whose calls the list does not name.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
#endif
  for (const uint32_t call : RefusedCalls()) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    return Internal("the system call filter was refused: {}", std::strerror(errno));
  }
  return OkStatus();
}

// `hard` is what the limit can be raised to.
Status Limit(__rlimit_resource resource, rlim_t value, rlim_t hard) {
  const rlimit limit = {value, hard};
  if (setrlimit(resource, &limit) != 0)
    return Internal("a resource limit was refused: {}", std::strerror(errno));
  return OkStatus();
}

Status Limit(__rlimit_resource resource, rlim_t value) { return Limit(resource, value, value); }

}  // namespace

Status ConfineProcess(int64_t memory_bytes, int cpu_seconds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef SACCADE_SANITIZED  // sanitizers reserve terabytes of address space
  SACCADE_RETURN_IF_ERROR(Limit(RLIMIT_AS, static_cast<rlim_t>(memory_bytes)));
#else
  (void)memory_bytes;
#endif
  // SIGXCPU first, which tells the parent what happened.
  const auto seconds = static_cast<rlim_t>(cpu_seconds);
  SACCADE_RETURN_IF_ERROR(Limit(RLIMIT_CPU, seconds, seconds + 2));
  SACCADE_RETURN_IF_ERROR(Limit(RLIMIT_CORE, 0));
  // A write to a file is an error and not the end, as libraries try it for caches.
  std::signal(SIGXFSZ, SIG_IGN);
  SACCADE_RETURN_IF_ERROR(Limit(RLIMIT_FSIZE, 0));
  SACCADE_RETURN_IF_ERROR(Limit(RLIMIT_NOFILE, 64));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Internal("no_new_privs was refused");
  return InstallFilter();
}

}  // namespace saccade
