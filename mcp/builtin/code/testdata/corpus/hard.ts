import { Base, Meta } from "./base";

export class Z<T> extends Base<
  T,
  T
> {
  value = 1
}

export interface A<T = string>
  extends B {
  a: T
  b(x: { y: number }): void
  [key: string]: unknown
}

export class C extends Base<{ x: number }, () => { y: string }> implements
  A<string>,
  Other<{ z: [1, 2] }>
{
  @Input({
    // a comment in a decorator
    name: "}",
  })
  private field: Map<string,
    number> = new Map<string, number>();

  @HostListener("window:resize", [
    "$event",
  ]) onResize(event: Event): void {
    this.field.clear()
  }

  // The first overload.
  f(a: string): void
  f(a: number): void
  f(a: any): void {
    return a as { b: number } as any
  }

  make(): () => { a: number } {
    return () => ({ a: 1 })
  }

  pick<K extends keyof T>(key: K): T extends string ? { a: 1 } : { b: 2 } {
    return null!
  }

  arrow = (a: number): number => {
    return a < 1 ? a : 2
  }
}

/**
 * A type.
 */
export type U<
  T extends object,
  K = { a: string }
> =
  | T
  | K

type Last = { a: 1 }
function overload(a: string): void
function overload(a: number): void
function overload(a: any): void {}

const text = `
export function inside() {
  ${[1].map((x) => { return `}${x}` })}
}
`
const less = 1 < 2

export default
class Split {
  a = 1
}

export const late =
  class Named {
    b = 2
  }

const chained = [1, 2]
  .map((x) => x)
  .filter(Boolean)

enum E {
  X = "x",
  Y = 1 << 2,
}

@Component({
  selector: "a",

  template: `<div>}</div>`,
})
// a comment
export abstract class Decorated {
  abstract g(): void
}

const one = 1,
  two = 2;

call(function named() {
  return 1
})

export namespace N { export const m = 1 }
