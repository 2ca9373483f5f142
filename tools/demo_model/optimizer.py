"""Muon for the hidden matrices, with the orthogonalisation shared out among the training processes."""
import torch
import torch.distributed as dist


def orthogonalised(gradient, steps: int = 5):
    """Newton-Schulz iteration in bfloat16, which is exact enough: all singular values move close to 1."""
    tall = gradient.shape[0] > gradient.shape[1]
    x = gradient.T if tall else gradient
    x = (x / (x.norm() + 1e-7)).bfloat16()
    for _ in range(steps):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return (x.T if tall else x).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, parameters, lr: float, momentum: float = .95, weight_decay: float = .02):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, rank: int = 0, world: int = 1) -> None:
        """Every process orthogonalises each `world`-th matrix; a sum over the processes puts the parts together."""
        for group in self.param_groups:
            total = sum(p.numel() for p in group["params"])
            updates, begin = torch.zeros(total), 0
            for i, parameter in enumerate(group["params"]):
                part = updates[begin:begin + parameter.numel()].view_as(parameter)
                begin += parameter.numel()
                if i % world == rank:
                    part.copy_(self.update(parameter, group["momentum"]))
            if world > 1:
                dist.all_reduce(updates)
            begin = 0
            for parameter in group["params"]:
                part = updates[begin:begin + parameter.numel()].view_as(parameter)
                begin += parameter.numel()
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(part, alpha=-group["lr"])

    def update(self, parameter, momentum: float):
        buffer = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
        buffer.lerp_(parameter.grad, 1 - momentum)
        matrix = parameter.grad.lerp(buffer, momentum).reshape(len(parameter), -1)
        x = orthogonalised(matrix)
        return x.view_as(parameter) * max(1, x.shape[0] / x.shape[1]) ** .5
