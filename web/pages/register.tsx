import { mount } from '../browser/mount.js'
import { redirectAfterSignIn, returnToInAddress, withReturnTo } from '../browser/navigation.js'
import { Card, LoadingCard } from '../components/card.js'
import { ContinuesTo } from '../components/from-application.js'
import { Heading, useStepText } from '../components/heading.js'
import { HelpLink, Notice } from '../components/notice.js'
import { ProviderButtons } from '../components/providers.js'
import { RegisterForm } from '../components/register-form.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { useVisitor } from '../sign-in/visitor.js'

export const Register = () => {
  const words = useWords('register')
  const { registration, providers } = useSettings()
  const returnTo = returnToInAddress()
  const stepText = useStepText(1, 3)
  const visitor = useVisitor(() => redirectAfterSignIn(returnTo))
  if (visitor !== 'signed-out') return <LoadingCard />
  const invitedSentence = providers.length > 0 ? `${words.invited} ${words.invitedProviders}` : words.invited
  return (
    <Card
      footer={
        <>
          {words.haveAccount} <a href={withReturnTo('/login', returnTo)}>{words.signIn}</a>
        </>
      }
    >
      <Heading
        text={registration === 'closed' ? words.closedHeading : words.heading}
        step={registration === 'open' ? stepText : undefined}
      />
      <ContinuesTo returnTo={returnTo} />
      {registration === 'open' ? (
        <RegisterForm />
      ) : (
        <Notice kind="info" after={registration === 'closed' && <HelpLink />}>
          {registration === 'closed' ? words.closed : invitedSentence}
        </Notice>
      )}
      {registration !== 'closed' && <ProviderButtons returnTo={returnTo} isOnlyWay={registration !== 'open'} />}
    </Card>
  )
}

mount(Register)
