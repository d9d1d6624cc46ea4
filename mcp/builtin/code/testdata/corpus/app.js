#!/usr/bin/env node
'use strict'

import { x } from './x.js'

/** How many. */
const LIMIT = 3, OTHER = {
  a: 1,
}
let pattern = /[{'"]/g
const add = (a, b) => a + b
const twice = async (f) => {
  await f()
  return `${f()} }`
}

// The base.
export class Base {
  #secret = 1
  static count = 0

  constructor (a) {
    this.a = a
  }

  get value () { return this.a }
  set value (v) { this.a = v }

  static async *items () {
    yield `{`
  }

  handler = () => {
    return 1
  }
}

export default class Child extends Base {
  run (a, { b, c } = {}, ...rest) {
    const inner = function () { return a }
    function local () {}
    return inner
  }
}

function outer ()
{
  return function nested () { return '}' }
}

function chain () {
  return [1, 2]
    .map(x => x)
    .filter(Boolean)
}

Base.prototype.later = function () {
  return 2
}

const table = {
  first () { return 1 },
  second: function () { return 2 },
  third: 3,
}

export function outer2 (a = '(') { return a }
function same () { return 1 }
function same () { return 2 }
