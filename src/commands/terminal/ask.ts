import { createInterface } from 'node:readline'
import type { Terminal } from '../command.js'

/** Resolves to the answer, or to undefined after Ctrl-C, Ctrl-D, or when the terminal is closed. */
export const ask = ({ stdin, stderr }: Terminal, question: string) =>
  new Promise<string | undefined>((resolve) => {
    const prompt = createInterface({ input: stdin, output: stderr })
    prompt.once('SIGINT', () => prompt.close())
    prompt.once('close', () => resolve(undefined))
    prompt.question(question, (answer) => {
      resolve(answer)
      prompt.close()
    })
  })
