import { useState } from 'preact/hooks'
import type { Refusal } from '../../packages/client/src/client.js'
import type { SecondFactorWaiting, TotpBegun } from '../../src/contract/schemas.js'
import { client } from '../client.js'
import { Card } from '../components/card.js'
import { Form, type Problems } from '../components/form.js'
import { Heading } from '../components/heading.js'
import { redirectAfterSignIn, withReturnTo } from '../navigation.js'
import { useProblems, useSentences } from '../refusals.js'
import { useWords } from '../settings.js'
import { MailedCode } from '../step-up/mailed-code.js'
import { AddApp, RecoveryCodes } from './steps.js'

type Props = {
  waiting: SecondFactorWaiting
  returnTo: string | undefined
  onOver: (sentence: string) => void
}

/** The sign-in goes on when the user has entered the mailed code and added a factor. */
export const Enrolment = ({ waiting, returnTo, onOver }: Props) => {
  const words = useWords('enrolment')
  const common = useWords('common')
  const sentenceFor = useSentences()
  const [needsMail, setNeedsMail] = useState(waiting.mailedCodeRequired)
  const [begun, setBegun] = useState<TotpBegun>()
  const [codes, setCodes] = useState<string[]>()

  const endIfOver = (refusal: Refusal) => {
    if (refusal.refused !== 'challenge_over') return false
    onOver(sentenceFor(refusal))
    return true
  }

  if (codes) {
    return (
      <Card>
        <Heading text={words.savedHeading} focused />
        <RecoveryCodes codes={codes} onDone={() => redirectAfterSignIn(returnTo)} />
      </Card>
    )
  }
  return (
    <Card footer={<a href={withReturnTo('/login', returnTo)}>{common.backToLogin}</a>}>
      <Heading text={words.heading} />
      {needsMail ? (
        <ByMail onEntered={() => setNeedsMail(false)} endIfOver={endIfOver} />
      ) : begun ? (
        <AddApp begun={begun} confirm={client.confirmTotpToSignIn} onAdded={setCodes} onRefused={endIfOver} />
      ) : (
        <Choice onBegun={setBegun} endIfOver={endIfOver} />
      )}
    </Card>
  )
}

type StepProps = { endIfOver: (refusal: Refusal) => boolean }

const ByMail = ({ onEntered, endIfOver }: StepProps & { onEntered: () => void }) => {
  const words = useWords('enrolment')
  const problemsOf = useProblems({ wrong_mailed_code: 'code' })
  const enter = async (mailedCode: string): Promise<Problems | undefined> => {
    const answer = await client.openEnrolment({ mailedCode })
    if (answer.refused) return endIfOver(answer) ? undefined : problemsOf(answer)
    onEntered()
    return undefined
  }
  const send = async () => {
    const answer = await client.mailEnrolmentCode()
    if (answer.refused) endIfOver(answer)
    return answer
  }
  return (
    <>
      <p class="lead">{words.lead}</p>
      <MailedCode send={send} enter={enter} />
    </>
  )
}

const Choice = ({ onBegun, endIfOver }: StepProps & { onBegun: (begun: TotpBegun) => void }) => {
  const words = useWords('enrolment')
  const problemsOf = useProblems()
  const begin = async (): Promise<Problems | undefined> => {
    const answer = await client.beginTotpToSignIn()
    if (answer.refused) return endIfOver(answer) ? undefined : problemsOf(answer)
    onBegun(answer.value)
    return undefined
  }
  return (
    <>
      <p class="lead" role="status">
        {words.choose}
      </p>
      <Form submitLabel={words.useApp} onSubmit={begin}>
        {null}
      </Form>
    </>
  )
}
