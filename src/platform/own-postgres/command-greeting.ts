import type { Socket } from 'node:net'
import { seconds } from '../../lib/durations.js'

/**
 * `Hello` is the first message of a command, and `Welcome` is the answer of the service. Only a command of the same version gets the
 * settings.
 */
export type Hello = { version: string }
export type Welcome = { version: string; settings?: Readonly<Record<string, string | undefined>> }

export const isGreeting = (value: unknown): value is Hello & Welcome =>
  typeof value === 'object' && value !== null && 'version' in value && typeof value.version === 'string'

const longestLine = 1024 * 1024
const timeout = 10 * seconds

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const writeLine = (socket: Socket, value: Hello | Welcome) => void socket.write(`${JSON.stringify(value)}\n`)

/** Reads one line of JSON, after which the other side waits for us. The result is undefined if no such line comes. */
export const readLine = (socket: Socket) =>
  new Promise<unknown>((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (text: string) => {
      socket.off('data', take).off('close', giveUp).setTimeout(0).off('timeout', giveUp).pause()
      resolve(parse(text))
    }
    const giveUp = () => finish('')
    const take = (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (chunk.at(-1) === 0x0a) finish(Buffer.concat(chunks).toString('utf8'))
      else if (size > longestLine) giveUp()
    }
    if (socket.destroyed) return giveUp()
    socket.on('data', take).on('close', giveUp).on('timeout', giveUp).setTimeout(timeout).resume()
    return undefined
  })
