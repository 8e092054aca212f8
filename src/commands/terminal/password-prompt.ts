import { StringDecoder } from 'node:string_decoder'
import { CommandFailure, type Terminal, write } from '../command.js'
import { asText } from '../import/input.js'

const maxLength = 4_096
const endOfInput = '\u0004'
const enterKeys = ['\r', '\n', endOfInput]
const eraseKeys = ['\u007f', '\b']
const interruptKey = '\u0003'

/** Reads one line without showing it, and then restores the terminal, also after Ctrl-C. */
const askHidden = async ({ stdin, stderr }: Terminal, question: string) => {
  const decoder = new StringDecoder('utf8')
  // Echo is switched off before the question, so that an answer that is typed at once is not shown.
  stdin.setRawMode?.(true)
  try {
    await write(stderr, question)
    return await new Promise<string>((resolve, reject) => {
      let typedCharacters: string[] = []
      const finish = (settle: () => void) => {
        stdin.off('data', read).off('end', giveUp)
        stdin.pause()
        settle()
      }
      const giveUp = () => finish(() => reject(new CommandFailure('No password was given.')))
      const read = (chunk: Buffer | string) => {
        for (const character of typeof chunk === 'string' ? chunk : decoder.write(chunk)) {
          if (character === interruptKey || (character === endOfInput && typedCharacters.length === 0)) return giveUp()
          if (enterKeys.includes(character)) return finish(() => resolve(typedCharacters.join('')))
          if (eraseKeys.includes(character)) typedCharacters = typedCharacters.slice(0, -1)
          else if (typedCharacters.length < maxLength) typedCharacters.push(character)
        }
      }
      stdin.on('data', read).once('end', giveUp)
      stdin.resume()
    })
  } finally {
    stdin.setRawMode?.(false)
    await write(stderr, '\n')
  }
}

const askTwice = async (terminal: Terminal) => {
  const password = await askHidden(terminal, 'Password: ')
  if ((await askHidden(terminal, 'Repeat the password: ')) !== password)
    throw new CommandFailure('The two passwords are not the same.')
  return password
}

/** Reads one line. It may end with a line break, as files and `printf '%s\n' "$PASSWORD" | …` do. */
const readOneLine = async ({ stdin }: Terminal) => {
  let text = ''
  for await (const piece of asText(stdin)) {
    text += piece.text
    if (text.length > maxLength) throw new CommandFailure('The password on standard input is too long.')
  }
  const password = text.replace(/\r?\n$/, '')
  if (/[\r\n]/.test(password))
    throw new CommandFailure('Standard input has several lines: give the password alone, on one line.')
  return password
}

/** A password is never an argument of a command: every user of the machine can see arguments, and the history of the shell keeps them. */
export const readPassword = async (terminal: Terminal, isOnStdin: boolean) => {
  if (isOnStdin) return readOneLine(terminal)
  if (!terminal.stdin.isTTY)
    throw new CommandFailure('There is no terminal to ask for the password: give it with --password-stdin.')
  return askTwice(terminal)
}
