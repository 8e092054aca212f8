import type { MailLoginLink } from '#contract/mail-login.js'
import { client } from '../browser/client.js'
import { forgetToken } from '../browser/navigation.js'
import { Button } from '../components/button.js'
import { Card, LoadingCard } from '../components/card.js'
import { Form } from '../components/form.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading } from '../components/heading.js'
import { Notice } from '../components/notice.js'
import { useMailedLink } from '../hooks/mailed-link.js'
import { useWords } from '../hooks/settings.js'
import { useProblems } from '../words/refusals.js'
import { enterByMail, type MailLoginProps } from './mail-login.js'

type Props = Omit<MailLoginProps, 'stage'> & { token: string }

/**
 * The link of the mail. It signs the user in only in the browser that asked for it, and after a press. In another browser the link is
 * not used up, and the page says where to continue.
 */
export const MailedSignInLink = ({ token, ...props }: Props) => {
  const { found, refusal, ending, endWith } = useMailedLink<MailLoginLink, 'other_browser'>(async (end) => {
    const answer = await client.checkMailLogin({ token })
    if (!answer.refused && answer.value.state === 'other_browser') end('other_browser')
    if (!answer.refused && answer.value.state === 'over') return { refused: 'invalid_link', status: 400 }
    return answer
  })
  if (ending === 'other_browser') return <Elsewhere {...props} />
  if (ending !== undefined) return <LinkOver {...props} />
  if (!found && !refusal) return <LoadingCard />
  return <ConfirmSignIn {...props} token={token} onEnd={endWith} />
}

const ConfirmSignIn = ({ token, onEnd, ...props }: Props & { onEnd: (ending: 'other_browser' | 'dead') => void }) => {
  const words = useWords('mail-login')
  const problemsOf = useProblems()
  const submit = async () => {
    const answer = await client.confirmMailLogin({ token })
    if (answer.refused === 'other_browser') onEnd('other_browser')
    else if (answer.refused === 'invalid_link') onEnd('dead')
    else if (answer.refused) return problemsOf(answer)
    else {
      forgetToken()
      return enterByMail(answer.value, { ...props, stage: { at: 'ask' } })
    }
    return undefined
  }
  return (
    <Card>
      <Heading text={words.linkHeading} lead={words.linkLead} />
      <ContinuesTo returnTo={props.returnTo} step="sign-in" />
      <Form submitLabel={words.submit} onSubmit={submit}>
        {null}
      </Form>
    </Card>
  )
}

const Elsewhere = ({ onStage }: Pick<Props, 'onStage'>) => {
  const words = useWords('mail-login')
  const { other_browser: sentence } = useWords('refusals')
  return (
    <Card>
      <Heading text={words.elsewhereHeading} />
      <Notice kind="info">{sentence}</Notice>
      <p class="card-note">{words.elsewhereWhy}</p>
      <Button
        look="quiet"
        onPress={() => {
          forgetToken()
          onStage(undefined)
        }}
      >
        {words.otherWay}
      </Button>
    </Card>
  )
}

const LinkOver = ({ onStage }: Pick<Props, 'onStage'>) => {
  const words = useWords('mail-login')
  return (
    <Card>
      <Heading text={words.overHeading} lead={words.over} />
      <Form
        submitLabel={words.askAgain}
        onSubmit={async () => {
          onStage({ at: 'ask' })
          return undefined
        }}
      >
        {null}
      </Form>
    </Card>
  )
}
