"""A function of JAX, run equation by equation, so that its products are seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import jax
import numpy as np
from jax.extend import core

from tcverify._errors import CheckError
from tcverify._recorder import Refused
from tcverify.jax import _primitives, _products
from tcverify.jax._product_request import ProductRequest

#: Runs what was met.
Run = Callable[[], Any]

#: Why an equation is not seen.
UNSEEN = "it may hold products that are not seen from outside"


class Listener:
    """Who is told of equations that are, or may hold, products."""

    #: Whether it computes products itself.
    computes = False

    def __call__(self, fun: Callable[..., Any], *, static_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
        """The same function, run by us; ``static_argnums`` as of ``jax.jit``."""
        if isinstance(fun, _Followed):
            return _Followed(fun.fun, (*fun.listeners, self), fun.static)
        static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        return _Followed(fun, (self,), static)

    def begins(self, others: Sequence[Listener]) -> None:
        """A function is run, to which these others listen as well."""

    def product(self, found: ProductRequest, path: str, run: Run) -> Any:
        """A product; gives D in the shape that the program has."""
        raise NotImplementedError

    def missed(self, name: str, why: str, path: str) -> None:
        """An equation whose products are not seen, or that no request can ask for."""
        raise NotImplementedError


class _Followed:
    """A function and who listens to it, first who computes."""

    def __init__(self, fun: Callable[..., Any], listeners: tuple[Listener, ...], static: tuple[int, ...]) -> None:
        if not callable(fun):
            raise CheckError("fun", f"a function of arrays is expected, not {type(fun).__name__}")
        if sum(one.computes for one in listeners) > 1:
            raise CheckError("fun", "this function is simulated already")
        self.fun, self.static = fun, static
        self.listeners = tuple(sorted(listeners, key=lambda one: not one.computes))
        self.__name__ = getattr(fun, "__name__", type(fun).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        at = {n % len(args) for n in self.static if -len(args) <= n < len(args)} if args else set()
        leaves = jax.tree_util.tree_leaves(([one for n, one in enumerate(args) if n not in at], kwargs))
        _refuse_traced(leaves)
        for one in self.listeners:
            one.begins(self.listeners)
        closed, shape = jax.make_jaxpr(self.fun, static_argnums=self.static, return_shape=True)(*args, **kwargs)
        _refuse_traced(closed.consts)
        given = [_array(leaf, into.aval) for leaf, into in zip(leaves, closed.jaxpr.invars)]
        results = _Run(self.listeners).jaxpr(closed.jaxpr, closed.consts, given, "")
        tree = jax.tree_util.tree_structure(shape)
        return jax.tree_util.tree_unflatten(tree, [_array(one, of.aval) for one, of in zip(results, closed.jaxpr.outvars)])


def _refuse_traced(values: Sequence[Any]) -> None:
    if any(isinstance(value, jax.core.Tracer) for value in values):
        raise CheckError(
            "fun",
            "the arguments have no numbers: JAX traces them for jit, grad, vmap or a loop. "
            "Put that inside: simulate(...)(jax.grad(f)), not jax.grad(simulate(...)(f))",
        )


def _array(value: Any, aval: Any) -> Any:
    return value if isinstance(value, jax.Array) else jax.numpy.asarray(value, dtype=aval.dtype)


class _Run:
    """One call of a function."""

    def __init__(self, listeners: tuple[Listener, ...]) -> None:
        self._listeners = listeners
        self._known: dict[int, bool] = {}

    def jaxpr(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], path: str) -> list[Any]:
        """The results of its equations."""
        values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args)))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, core.Literal) else values[atom]

        last = {atom: n for n, one in enumerate(jaxpr.eqns) for atom in one.invars if not isinstance(atom, core.Literal)}
        kept = {atom for atom in jaxpr.outvars if not isinstance(atom, core.Literal)}
        for n, equation in enumerate(jaxpr.eqns):
            found = self._equation(equation, [read(atom) for atom in equation.invars], path)
            values.update(zip(equation.outvars, found))
            for atom in equation.invars:
                if not isinstance(atom, core.Literal) and last[atom] == n and atom not in kept:
                    # What nobody reads any more takes no memory.
                    values.pop(atom, None)
        return [read(atom) for atom in jaxpr.outvars]

    def _closed(self, closed: Any, args: Sequence[Any], path: str) -> list[Any]:
        if hasattr(closed, "jaxpr"):
            return self.jaxpr(closed.jaxpr, closed.consts, args, path)
        return self.jaxpr(closed, (), args, path)

    def _equation(self, equation: Any, args: list[Any], path: str) -> Sequence[Any]:
        run = partial(_bound, equation, args)
        if _primitives.contains_none(equation, self._known):
            return run()
        scope = str(equation.source_info.name_stack)
        path = "/".join(part for part in (path, scope) if part)
        name, params = equation.primitive.name, equation.params
        if name in _products.MEANINGS:
            return self._product(equation, args, path, run)
        if name in _primitives.CALLS:
            return self._closed(params[_primitives.CALLS[name]], args, path)
        if name == "cond":
            index, *operands = args
            return self._closed(params["branches"][min(max(int(index), 0), len(params["branches"]) - 1)], operands, path)
        if name == "while":
            return self._while(params, args, path)
        if name == "scan" and params["length"]:
            return self._scan(params, args, path)
        if name != "scan":
            for one in self._listeners:
                one.missed(name, UNSEEN, path)
        return run()

    def _product(self, equation: Any, args: list[Any], path: str, run: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        try:
            parts = _products.products_of(equation, args)
        except Refused as refused:
            for one in self._listeners:
                one.missed(equation.primitive.name, str(refused), path)
            parts = []
        if not parts:
            return run()
        # One run has them all.
        result = cache(lambda: run()[0])
        given = [(part.at, self._part(part, path, result)) for part in parts]
        if parts[0].at is None:
            return [given[0][1]]
        if not any(one.computes for one in self._listeners):
            return [result()]
        aval = equation.outvars[0].aval
        computed = np.zeros(aval.shape, aval.dtype)
        for at, d in given:
            computed[at] = d
        return [jax.numpy.asarray(computed)]

    def _part(self, part: _products.Part, path: str, result: Callable[[], Any]) -> Any:
        run: Run = result if part.at is None else lambda: result()[part.at]
        for one in self._listeners:
            run = partial(one.product, part.found, path, run)
        return run()

    def _while(self, params: dict[str, Any], args: list[Any], path: str) -> list[Any]:
        n, m = params["cond_nconsts"], params["body_nconsts"]
        tested, looped, carry = args[:n], args[n : n + m], args[n + m :]
        while bool(self._closed(params["cond_jaxpr"], [*tested, *carry], path)[0]):
            carry = self._closed(params["body_jaxpr"], [*looped, *carry], path)
        return carry

    def _scan(self, params: dict[str, Any], args: list[Any], path: str) -> list[Any]:
        n, m, length = params["num_consts"], params["num_carry"], params["length"]
        consts, carry, rows = args[:n], args[n : n + m], args[n + m :]
        stacked: list[list[Any]] = []
        for at in reversed(range(length)) if params["reverse"] else range(length):
            now = [jax.lax.dynamic_index_in_dim(row, at, 0, keepdims=False) for row in rows]
            found = self._closed(params["jaxpr"], [*consts, *carry, *now], path)
            carry = found[:m]
            stacked.append(found[m:])
        if params["reverse"]:
            stacked.reverse()
        return [*carry, *(jax.numpy.stack(parts) for parts in zip(*stacked))]


def _bound(equation: Any, args: Sequence[Any]) -> Sequence[Any]:
    """What JAX itself gives."""
    functions, params = (), equation.primitive.get_bind_params(equation.params)
    if isinstance(params, tuple):
        # Before JAX 0.10.
        functions, params = params
    with getattr(equation.ctx, "manager", contextlib.nullcontext()):
        found = equation.primitive.bind(*functions, *args, **params)
    return found if equation.primitive.multiple_results else [found]


__all__ = ["Listener", "Refused", "Run", "UNSEEN"]
