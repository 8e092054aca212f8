import { useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import { CodeField } from '../components/code-field.js'
import { Form, type Problems, type Values } from '../components/form.js'
import { Announced } from '../components/notice.js'
import { SendAgain } from '../components/send-again.js'
import { useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'

type Props = { send: () => Promise<Answer<unknown>>; enter: (code: string) => Promise<Problems | undefined> }

/** Mails a code to the address of the account, and takes it. */
export const MailedCode = ({ send, enter }: Props) => {
  const words = useWords('step-up')
  const problemsOf = useProblems()
  const [isSent, setSent] = useState(false)

  const sendFirst = async () => {
    const answer = await send()
    if (answer.refused) return problemsOf(answer)
    setSent(true)
    return undefined
  }

  if (!isSent) {
    return (
      <>
        <p>{words.mailLead}</p>
        <Form submitLabel={words.sendCode} onSubmit={sendFirst}>
          {null}
        </Form>
      </>
    )
  }
  return (
    <>
      <Announced text={words.mailSent} />
      <Form key="code" submitLabel={words.confirm} onSubmit={({ code = '' }: Values) => enter(code)}>
        <CodeField label={words.code} from="mail" hint={words.codeHint} maxLength={32} focused="chosen" />
      </Form>
      <SendAgain send={send} sentMessage={words.sentAgain} />
    </>
  )
}
