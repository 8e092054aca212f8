import { expect, it } from 'vitest'
import { isLoopback } from './networks.js'

it('knows the names and addresses of this machine, and no others', () => {
  expect(['localhost', '127.0.0.1', '127.8.0.1', '::1', '[::1]'].every(isLoopback)).toBe(true)
  expect(['127.0.0.1.example', 'localhost.example', '10.0.0.1', '[::2]', '::2', ''].some(isLoopback)).toBe(false)
})
