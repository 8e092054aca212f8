import type { Socket } from 'node:net'
import { seconds } from '../../lib/durations.js'

/**
 * The first message of a command, and the answer of the service. Settings are told to a command of the same version only. Without a
 * free place for another command it is told how many there are.
 */
export type Hello = { version: string }
export type Welcome = { version: string; settings?: Readonly<Record<string, string | undefined>>; allPlaces?: number }

export const isHello = (value: unknown): value is Hello & Welcome =>
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

/** One line of JSON, after which the other side waits for us. Undefined if nothing comes that can be read. */
export const readLine = (socket: Socket) =>
  new Promise<unknown>((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (text: string) => {
      socket.off('data', take).off('close', none).setTimeout(0).off('timeout', none).pause()
      resolve(parse(text))
    }
    const none = () => finish('')
    const take = (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (chunk.at(-1) === 0x0a) finish(Buffer.concat(chunks).toString('utf8'))
      else if (size > longestLine) none()
    }
    socket.on('data', take).on('close', none).on('timeout', none).setTimeout(timeout).resume()
  })
