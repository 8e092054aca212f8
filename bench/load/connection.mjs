// A keep-alive connection with just enough HTTP/1.1 to load a server. Node's own client needs more CPU time than the services
// that it measures, and on one machine the server cannot use the time that the client needs.
import { connect } from 'node:net'

/** @typedef {{ status: number, head: string, body: string }} Answer */
/** `form` is sent as a form instead of JSON. @typedef {{ cookie?: string | undefined, authorization?: string, body?: object, form?: Record<string, string>, headers?: readonly string[] }} Asked */

const deadline = 30_000

/** @type {(method: string, path: string, asked?: Asked) => string} */
export const request = (method, path, { cookie, authorization, body, form, headers = [] } = {}) => {
  const text = form ? new URLSearchParams(form).toString() : body ? JSON.stringify(body) : ''
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'user-agent: latchkey-bench']
  lines.push(...headers)
  if (cookie) lines.push(`cookie: ${cookie}`)
  if (authorization) lines.push(`authorization: ${authorization}`)
  if (text) lines.push(`content-type: ${type}`, `content-length: ${Buffer.byteLength(text)}`)
  return `${lines.join('\r\n')}\r\n\r\n${text}`
}

/** The cookies that a browser would send back: the names and values of the cookies that an answer sets. @type {(answer: Answer) => string} */
export const cookiesOf = ({ head }) =>
  [...head.matchAll(/^set-cookie: ([^=;]+=[^;\r\n]*)/gim)].map(([, pair]) => pair).join('; ')

/** The answer that begins a text, once all of it is there. @type {(text: string) => Answer | undefined} */
const readAnswer = (text) => {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const status = Number(head.slice(9, 12))
  const body = text.slice(end + 4)
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    return body === '0\r\n\r\n' || body.endsWith('\r\n0\r\n\r\n') ? { status, head, body } : undefined
  }
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  return body.length >= length ? { status, head, body } : undefined
}

/** Takes one request at a time. @param {number} port */
export const openConnection = (port) => {
  /** @type {import('node:net').Socket | undefined} */
  let socket
  let received = ''
  /** @type {{ resolve: (answer: Answer) => void, reject: (error: Error) => void } | undefined} */
  let waiting

  const fail = (/** @type {Error} */ error) => {
    socket?.destroy()
    socket = undefined
    waiting?.reject(error)
    waiting = undefined
  }

  const open = () => {
    const opened = connect({ host: '127.0.0.1', port, noDelay: true })
    opened.setEncoding('latin1')
    opened.setTimeout(deadline, () => fail(new Error(`No answer within ${deadline} ms`)))
    opened.on('error', fail)
    opened.on('close', () => {
      if (socket === opened) fail(new Error('The connection was closed'))
    })
    opened.on('data', (text) => {
      received += text
      const answer = readAnswer(received)
      if (!answer) return
      received = ''
      const asked = waiting
      waiting = undefined
      asked?.resolve(answer)
    })
    return opened
  }

  return {
    /** @type {(text: string) => Promise<Answer>} */
    ask: (text) =>
      new Promise((resolve, reject) => {
        received = ''
        waiting = { resolve, reject }
        socket ??= open()
        socket.write(text)
      }),
    close: () => {
      const closing = socket
      socket = undefined
      closing?.destroy()
    },
  }
}

/** One request on a connection of its own. @type {(port: number, text: string) => Promise<Answer>} */
export const askOnce = async (port, text) => {
  const connection = openConnection(port)
  try {
    return await connection.ask(text)
  } finally {
    connection.close()
  }
}

/** Whether a server answers a GET, with this status if one is named. @type {(port: number, path: string, status?: number) => Promise<boolean>} */
export const isUp = (port, path, status) =>
  askOnce(port, request('GET', path)).then(
    (answer) => status === undefined || answer.status === status,
    () => false,
  )
