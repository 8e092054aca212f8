import { connect, type Socket } from 'node:net'

export type RawConnection = ReturnType<typeof openRawConnection>

const isBodiless = (head: string, method: string) => method === 'HEAD' || /^HTTP\/1\.1 (?:1\d\d|204|304) /.test(head)

/** The answer that begins a text, if all of it is there: interim answers (100 Continue) and the last one. */
const wholeAnswer = (text: string, method: string): string | undefined => {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end === 3) return undefined
  const head = text.slice(0, end)
  if (/^HTTP\/1\.1 1\d\d /.test(head)) {
    const rest = wholeAnswer(text.slice(end), method)
    return rest === undefined ? undefined : head + rest
  }
  const length = isBodiless(head, method) ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  return text.length >= end + length ? text.slice(0, end + length) : undefined
}

/** The moment of the answer is the only part that may differ between two servers. */
/** Without what differs from answer to answer. */
const comparable = (answer: string) => answer.replaceAll(/\r\n(date|x-request-id): [^\r]*/gi, '\r\n$1: *')

/**
 * Sends exactly these bytes (as Latin-1) and reads whole answers, on one connection for as long as the server keeps it. If the
 * server closes it, the answer says so, and the next request opens another one.
 */
export const openRawConnection = (port: number) => {
  let socket: Socket | undefined

  const open = () => connect({ host: '127.0.0.1', port, noDelay: true }).setEncoding('latin1')

  const askTogether = (requests: string[]) =>
    new Promise<string[]>((resolve, reject) => {
      socket ??= open()
      const current = socket
      const waiting = requests.map((text) => text.split(' ', 1)[0] ?? '')
      const answers: string[] = []
      let received = ''
      const settle = () => {
        current.removeAllListeners()
        // An error of a connection that is no longer in use is no concern of a test.
        current.on('error', () => undefined)
        resolve(answers.map(comparable))
      }
      current.on('data', (text: string) => {
        received += text
        for (let answer = wholeAnswer(received, waiting[0] ?? ''); answer && waiting.length > 0; ) {
          answers.push(answer)
          waiting.shift()
          received = received.slice(answer.length)
          answer = wholeAnswer(received, waiting[0] ?? '')
        }
        if (waiting.length === 0 && !/\r\nconnection: close\r\n/i.test(answers.at(-1) ?? '')) settle()
      })
      current.on('error', reject).on('close', () => {
        socket = undefined
        answers.push(`${received}[closed]`)
        settle()
      })
      current.write(requests.join(''), 'latin1')
    })

  return {
    askTogether,
    ask: async (text: string) => (await askTogether([text])).join(''),
    /** Resets the connection as soon as the bytes are sent. */
    sendAndLeave: (text: string) => {
      const leaving = open().on('error', () => undefined)
      leaving.write(text, 'latin1', () => leaving.resetAndDestroy())
    },
    close: () => {
      socket?.destroy()
      socket = undefined
    },
  }
}
