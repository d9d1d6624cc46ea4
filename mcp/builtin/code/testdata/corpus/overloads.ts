/** Parses. */
export function parse(a: string): string;
export function parse(a: number): number;
/** all */
export function parse(a: any): any {
  return a;
}

class A {
  /** one */
  get(a: string): string;
  get(a: number): number;
  get(a: any): any {
    return a;
  }
  put(a: string): void
  put(a: number): void
  put(a: any) {
  }
  abstract go(a: string): void;
  constructor(a: string);
  constructor(a: number);
  constructor(a: any) {
  }
}

declare function d(a: string): void;
declare function d(a: number): void;

interface I {
  m(a: string): void;
  m(a: number): void;
}
export function after() {}
