package v1

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	shopv1 "example.com/shop/api/v1"
)

// told keeps the warnings that the API server sends.
type told struct{ warnings []string }

func (t *told) HandleWarningHeader(_ int, _ string, text string) { t.warnings = append(t.warnings, text) }

var _ = Describe("Order behind an API server", func() {
	order := func(name string, foo *string) *shopv1.Order {
		return &shopv1.Order{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec:       shopv1.OrderSpec{Foo: foo},
		}
	}
	text := func(value string) *string { return &value }

	It("gets what the defaulting webhook fills in", func() {
		made := order("defaulted", nil)
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		Expect(made.Spec.Foo).To(HaveValue(Equal("by default")))
		stored := order("defaulted", nil)
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
		Expect(stored.Spec.Foo).To(HaveValue(Equal("by default")))
	})

	It("keeps what it was sent with", func() {
		made := order("kept", text("mine"))
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		Expect(made.Spec.Foo).To(HaveValue(Equal("mine")))
	})

	It("is refused by the validating webhook in its words", func() {
		err := k8sClient.Create(ctx, order("refused", text("refused")))
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(`admission webhook "vorder-v1.kb.io" denied the request: foo must not be "refused"`))
		missing := order("refused", nil)
		Expect(apierrors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(missing), missing))).To(BeTrue())
	})

	It("is not changed to what the webhook refuses", func() {
		made := order("changed", text("first"))
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		made.Spec.Foo = text("second")
		Expect(k8sClient.Update(ctx, made)).To(Succeed())
		made.Spec.Foo = text("refused")
		err := k8sClient.Update(ctx, made)
		Expect(err).To(MatchError(ContainSubstring(`foo was "second" and must not become "refused"`)))
	})

	It("is sent with the webhook's warnings", func() {
		kept := &told{}
		config := rest.CopyConfig(cfg)
		config.WarningHandler = kept
		warned, err := client.New(config, client.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(warned.Create(ctx, order("warned", text("old")))).To(Succeed())
		Expect(kept.warnings).To(ConsistOf(`foo "old" is going away`))
	})

	It("is defaulted and validated in a dry run, and not stored", func() {
		tried := order("tried", nil)
		Expect(k8sClient.Create(ctx, tried, client.DryRunAll)).To(Succeed())
		Expect(tried.Spec.Foo).To(HaveValue(Equal("by default")))
		Expect(apierrors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(tried), tried))).To(BeTrue())
		err := k8sClient.Create(ctx, order("tried", text("refused")), client.DryRunAll)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	})

	It("is deleted without a webhook that asks for updates only", func() {
		made := order("deleted", text("mine"))
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		Expect(k8sClient.Delete(ctx, made)).To(Succeed())
	})
})
